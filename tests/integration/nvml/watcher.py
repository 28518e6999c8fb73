# SPDX-License-Identifier: Apache-2.0
"""watcher.py: a program without CUDA, as monitors are: prints what NVML says of each device, v1 and v2."""
import json

import pynvml

pynvml.nvmlInit()
rows = []
for index in range(pynvml.nvmlDeviceGetCount()):
    device = pynvml.nvmlDeviceGetHandleByIndex(index)
    one = pynvml.nvmlDeviceGetMemoryInfo(device)
    two = pynvml.nvmlDeviceGetMemoryInfo(device, version=pynvml.nvmlMemory_v2)
    rows.append({"uuid": pynvml.nvmlDeviceGetUUID(device),
                 "v1": {"free": one.free, "total": one.total, "used": one.used},
                 "v2": {"free": two.free, "total": two.total, "used": two.used, "reserved": two.reserved}})
print(json.dumps(rows))
