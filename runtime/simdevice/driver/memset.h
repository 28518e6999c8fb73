// SPDX-License-Identifier: Apache-2.0
// Memsets: from the entry points to one MemsetWork.
#pragma once

#include "runtime/simdevice/driver/memory.h"
#include "runtime/simdevice/driver/work.h"

namespace gacer::simdriver {

// CUDA_ERROR_INVALID_VALUE: misaligned, or beyond the allocation. `pitch` counts for more than one
// row only.
CUresult make_memset(const MemoryMap& memory, uint64_t dst, uint64_t pitch, uint32_t element_bytes,
                     uint32_t value, uint64_t width_elements, uint64_t height, MemsetWork& out);

}  // namespace gacer::simdriver
