// SPDX-License-Identifier: Apache-2.0
// Kernel arguments: from the caller's pointers or buffer to the packed bytes that a launch carries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {

// Either `pointers` (one for each parameter) or `extra` (CU_LAUNCH_PARAM_BUFFER_*), as
// cuLaunchKernel takes them. CUDA_ERROR_INVALID_VALUE: both, or neither for a kernel that has
// parameters, a NULL pointer, or a short buffer.
CUresult pack_params(const KernelDescription& kernel, void** pointers, void** extra,
                     std::vector<uint8_t>& out);

// Pointers into `packed`, one for each parameter.
std::vector<void*> param_pointers(const KernelDescription& kernel, std::span<uint8_t> packed);

}  // namespace gacer::simdriver
