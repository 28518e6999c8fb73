// SPDX-License-Identifier: Apache-2.0
// Device memory: allocation at once, and freeing at once or when a stream gets there.
#pragma once

#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/memory.h"

namespace gacer::simdriver {

CUresult allocate_device(const Context& context, size_t bytes, bool from_pool, uint64_t& address);

// Gives memory back when `stream` has done all that is in it now.
CUresult free_after(const Stream& stream, const Allocation& allocation);

}  // namespace gacer::simdriver
