// SPDX-License-Identifier: Apache-2.0
// The one device of this process.
#pragma once

#include "runtime/model/device_spec.h"
#include "runtime/simdevice/driver/cuda_api.h"

namespace gacer::simdriver {

// Initialised, and `device` is 0.
CUresult check_device(CUdevice device);

// Value of a device attribute; false when CUDA 13.0 has no such attribute.
bool device_attribute(const DeviceSpec& spec, bool mps, int attribute, int& value);

// Derived from the device's name: the same in every process and run.
CUuuid device_uuid(const DeviceSpec& spec);

inline constexpr uint32_t kMaxDefaultSmemBytes = 48 * 1024;
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint32_t kPciBus = 1;

}  // namespace gacer::simdriver
