// SPDX-License-Identifier: Apache-2.0
// What driver and NVML must say alike of the device with an index: its UUID, its place on the bus,
// the versions of the driver.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/model/device_spec.h"

namespace gacer::simdevice {

// Derived from the device's name and index: the same in every process and run. RFC 4122, version 4.
using UuidBytes = std::array<uint8_t, 16>;
UuidBytes device_uuid_bytes(const DeviceSpec& spec, uint32_t index);
// "GPU-" and the usual groups of lower-case hexadecimal digits.
std::string uuid_text(const UuidBytes& uuid);

inline constexpr uint32_t kFirstPciBus = 1;       // of device 0; domain 0, slot 0
inline constexpr int kCudaDriverVersion = 13000;  // CUDA 13.0

}  // namespace gacer::simdevice
