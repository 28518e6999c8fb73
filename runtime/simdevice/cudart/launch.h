// SPDX-License-Identifier: Apache-2.0
// Launches, as cudaLaunchKernel and graphs need them.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

// Launch attributes are one structure under two names.
inline CUlaunchAttribute* driver_attributes(cudaLaunchAttribute* attributes) {
  static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));
  static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value));
  return reinterpret_cast<CUlaunchAttribute*>(attributes);
}

CUlaunchConfig driver_config(const cudaLaunchConfig_t& config);

// The driver says "invalid value" of a shape that the device does not take; the runtime tells it
// apart.
Outcome launch_outcome(CUresult result, dim3 grid, dim3 block);

// Why a later launch of a kernel without a handle fails.
void note_kernel_failure(cudaError_t error);

}  // namespace gacer::cudart
