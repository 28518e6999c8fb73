// SPDX-License-Identifier: Apache-2.0
// Memory operations of streams: checks and the work they make. Addresses must be memory the driver
// knows.
#pragma once

#include "runtime/simdevice/driver/memory.h"
#include "runtime/simdevice/driver/work.h"

namespace gacer::simdriver {

CUresult make_write(const MemoryMap& memory, uint64_t address, uint64_t value, uint32_t bytes,
                    unsigned flags, ValueWork& out);
CUresult make_wait(const MemoryMap& memory, uint64_t address, uint64_t value, uint32_t bytes,
                   unsigned flags, ValueWork& out);
CUresult make_batch(const MemoryMap& memory, const CUstreamBatchMemOpParams* list, unsigned count,
                    BatchWork& out);

// The parameters that make such a value work.
CUstreamBatchMemOpParams describe_value(const ValueWork& value);

}  // namespace gacer::simdriver
