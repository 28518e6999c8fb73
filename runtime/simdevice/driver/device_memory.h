// SPDX-License-Identifier: Apache-2.0
// Device memory: allocation at once, and freeing at once or when a stream gets there.
#pragma once

#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/memory.h"

namespace gacer::simdriver {

// Takes memory that no address of the program means: it is not in the map of allocations.
CUresult take_device_memory(const Context& context, size_t bytes, Allocation& out);
CUresult give_device_memory(const Allocation& allocation);

CUresult allocate_device(const Context& context, size_t bytes, uint64_t& address);

// Gives memory back when `stream` has done all that is in it now.
CUresult free_after(const Stream& stream, const Allocation& allocation);

}  // namespace gacer::simdriver
