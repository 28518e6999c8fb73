# SPDX-License-Identifier: Apache-2.0
"""holder.py BYTES: allocates device memory by the driver API, prints what cuMemGetInfo says and what NVML (nvidia-ml-py)
says in the same process as one JSON line, and waits for end of input. Devices by NVML index 0 = CUDA ordinal 0."""
import ctypes
import json
import sys
import uuid

import pynvml

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        sys.exit(f"{name}: {result}")


context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
raw = (ctypes.c_uint8 * 16)()
call("cuInit", 0)
call("cuDeviceGetUuid_v2", raw, 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(int(sys.argv[1])))
call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
answer = {"uuid": "GPU-" + str(uuid.UUID(bytes=bytes(raw))), "cuda": {"free": free.value, "total": total.value}}
try:
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    memory = pynvml.nvmlDeviceGetMemoryInfo(device)
    answer["nvml"] = {"free": memory.free, "total": memory.total, "used": memory.used}
except pynvml.NVMLError_LibraryNotFound:
    answer["nvml"] = None
print(json.dumps(answer), flush=True)
sys.stdin.read()
