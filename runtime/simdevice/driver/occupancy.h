// SPDX-License-Identifier: Apache-2.0
// Blocks of a kernel that fit on one SM. Rules: CUDA occupancy calculator (cuda_occupancy.h of the
// toolkit).
#pragma once

#include <cstdint>

#include "runtime/model/device_spec.h"

namespace gacer::simdriver {

struct BlockNeeds {
  uint32_t threads = 1;
  uint32_t regs_per_thread = 16;
  uint64_t smem_bytes = 0;  // static + dynamic
};

// 0: a single block does not fit.
uint32_t blocks_per_sm(const DeviceSpec& spec, const BlockNeeds& needs);

// Dynamic shared memory that leaves room for `blocks` blocks on an SM, 0 when they do not fit
// anyway.
uint64_t available_smem_bytes(const DeviceSpec& spec, uint32_t blocks, uint64_t static_smem_bytes);

}  // namespace gacer::simdriver
