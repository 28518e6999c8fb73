// SPDX-License-Identifier: Apache-2.0
// Where the NVML face learns the tenant's account: from this process's own ledger where it uses
// CUDA, else from gacerd.
#pragma once

#include "interpose/nvml/nvml_memory.h"

namespace gacer::interpose::nvml {

// False: no limit applies on this device, the program sees the device as it is. Thread-safe; waits
// for gacerd at most as long as its socket's time-out.
bool share_of_device(const uint8_t uuid[16], Share& share);

}  // namespace gacer::interpose::nvml
