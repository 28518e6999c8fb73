// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the NVML face: a device's memory as a tenant with a limit may see it. Pure.
#pragma once

#include "interpose/nvml/nvml_api.h"

namespace gacer::interpose::nvml {

// A tenant's account on one device.
struct Share {
  uint64_t limit_bytes;  // > 0
  uint64_t used_bytes;   // of all its processes
};

// total = min(limit, device); free never more than the device has; free + used = total. As
// cuMemGetInfo tells it.
void show_share(const Share& share, Memory& memory);
// The same; what the driver reserves is no business of the tenant: reserved 0.
void show_share(const Share& share, MemoryV2& memory);

// "GPU-8-4-4-4-12" or "MIG-..." hexadecimal text to the 16 bytes that cuDeviceGetUuid answers.
// False: not of that form.
bool parse_uuid(const char* text, uint8_t uuid[16]);

}  // namespace gacer::interpose::nvml
