// SPDX-License-Identifier: Apache-2.0
// CU_DEV_RESOURCE_TYPE_SM: sets of SMs and how they are split. Rules: CUDA Driver API, "Green
// Contexts".
#pragma once

#include <vector>

#include "runtime/model/device_spec.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/engine/sm_mask.h"

namespace gacer::simdriver {

// What a CUdevResource of ours says.
struct SmResource {
  simdevice::SmMask sms;  // never "all" by having no bit
  CUdevice device = 0;
  uint32_t split = 0;  // which split call made it; 0: none
};

// All SMs of a device.
SmResource whole_device(const DeviceSpec& spec, CUdevice device);

CUdevResource to_dev_resource(const DeviceSpec& spec, const SmResource& resource);
// CUDA_ERROR_INVALID_RESOURCE_TYPE: not one of these, or not made by this driver.
CUresult from_dev_resource(const CUdevResource& in, SmResource& out);

struct SmSplit {
  std::vector<SmResource> groups;
  SmResource remaining;  // no bit: nothing is left
};
// `most_groups`: as many as wanted. CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: not one group of
// `min_count` can be made.
CUresult split_sms(const DeviceSpec& spec, const SmResource& from, unsigned min_count,
                   unsigned flags, uint32_t most_groups, SmSplit& out);

}  // namespace gacer::simdriver
