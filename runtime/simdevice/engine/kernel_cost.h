// SPDX-License-Identifier: Apache-2.0
// What one block of a kernel asks of an SM: made from the executor's counters, used by the engine.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/simdevice/device_models.h"
#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

enum Pipe : unsigned { kIssue, kFp32, kInt32, kSfu, kFp64, kTensor, kLoadStore, kL2, kPipeCount };

struct KernelCost {
  // Residency, after allocation granularity.
  uint32_t threads = 32;
  uint32_t registers = 0;
  uint32_t smem_bytes = 0;
  // A block with the SM for itself lasts at least this long (its longest warp's dependent issue and
  // loads).
  double alone_ns = kMinAloneNs;
  // Time for which one block keeps each pipe of an SM busy.
  std::array<double, kPipeCount> pipe_ns{};
  // DRAM traffic of one block that L2 does not catch.
  double dram_bytes = 0;

  static constexpr double kMinAloneNs = 1.0;
  uint32_t warps() const { return (threads + 31) / 32; }
};

struct KernelShape {
  uint32_t threads_per_block = 1;
  uint32_t regs_per_thread = 16;
  uint32_t smem_bytes_per_block = 0;  // static + dynamic
  uint64_t blocks = 1;
  // Bytes the whole grid can touch at most (size of the allocations it was given); 0: not known.
  uint64_t footprint_bytes = 0;
};

// `counters` is the sum over `counted_blocks` (> 0) blocks.
KernelCost kernel_cost(const DeviceModel& device, const KernelShape& shape,
                       const BlockCounters& counters, uint64_t counted_blocks);

// How many such blocks an empty SM holds; 0: the block cannot run on this device.
uint32_t blocks_per_sm(const DeviceSpec& spec, const KernelCost& cost);

}  // namespace gacer::simdevice
