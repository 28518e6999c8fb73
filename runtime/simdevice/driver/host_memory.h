// SPDX-License-Identifier: Apache-2.0
// Host memory that the device can reach: pinned and managed (a memfd that the server maps too),
// registered (the program's own pages).
#pragma once

#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/memory.h"

namespace gacer::simdriver {

// `kind`: kPinned or kManaged (counts against device memory).
CUresult allocate_shared(const Context& context, size_t bytes, MemoryKind kind, unsigned flags,
                         uint64_t& address);

// A file of `bytes` that cannot be cut short, so that the server may map it; not valid: no memory.
UniqueFd make_shared_memory(const char* name, uint64_t bytes);

// Takes host memory from the server and unmaps what allocate_shared has mapped.
CUresult release_host(const Allocation& allocation);

}  // namespace gacer::simdriver
