// SPDX-License-Identifier: Apache-2.0
// The devices that this process sees: ordinals, identities, attributes.
#pragma once

#include <string>

#include "runtime/model/device_spec.h"
#include "runtime/simdevice/device_identity.h"
#include "runtime/simdevice/driver/cuda_api.h"

namespace gacer::simdriver {

// Initialised, and `device` is the ordinal of a visible device.
CUresult check_device(CUdevice device);

// Value of an attribute of the device with this index; false when CUDA 13.0 has no such attribute.
bool device_attribute(const DeviceSpec& spec, uint32_t index, bool mps, int attribute, int& value);

// Derived from the device's name and index: the same in every process and run.
CUuuid device_uuid(const DeviceSpec& spec, uint32_t index);
// "GPU-" and the usual groups of lower-case hexadecimal digits.
std::string uuid_text(const CUuuid& uuid);

inline constexpr uint32_t kMaxDefaultSmemBytes = 48 * 1024;
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
using simdevice::kFirstPciBus;

}  // namespace gacer::simdriver
