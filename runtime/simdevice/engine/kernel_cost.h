// SPDX-License-Identifier: Apache-2.0
// What one block of a kernel asks of an SM: made from the executor's counters, used by the engine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "runtime/simdevice/device_models.h"
#include "runtime/simdevice/engine/cache_model.h"
#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

enum Pipe : unsigned { kIssue, kFp32, kInt32, kSfu, kFp64, kTensor, kLoadStore, kL2, kPipeCount };

// In a given situation of the caches.
struct BlockCost {
  // A block with the SM for itself lasts at least this long (its longest warp's dependent issue and
  // loads).
  double alone_ns = kMinAloneNs;
  // Time for which one block keeps each pipe of an SM busy; kL2: the way between the SM and L2.
  std::array<double, kPipeCount> pipe_ns{};
  // DRAM traffic of one block that L2 does not catch.
  double dram_bytes = 0;
  // Time for which one block keeps all of L2 busy.
  double l2_ns = 0;

  static constexpr double kMinAloneNs = 1.0;
};

// What the cost of a block is made of where it depends on the caches.
struct CacheDependence {
  BlockAccesses accesses;
  bool on_l1 = false;  // whether the cost depends on who else uses L1, and L2
  bool on_l2 = false;
  double fixed_ns = 0;       // without waiting for loads
  double load_rounds = 0;    // loads of the longest warp that follow one another
  double least_ns = 0;       // too few warps to use all of the SM's pipes
  double blocks_on_sm = 1;   // alone on the device
  double bytes_per_ns = 0;   // touched by one block, alone on the device
  BlockCost without_memory;  // pipes that do not depend on the caches
};

struct KernelCost : BlockCost {
  // Residency, after allocation granularity.
  uint32_t threads = 32;
  uint32_t registers = 0;
  uint32_t smem_bytes = 0;
  // nullptr: the same in every situation.
  std::shared_ptr<const CacheDependence> caches;

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

// `counters` is the sum over `counted_blocks` (> 0) blocks. The cost is that of a device that runs
// nothing else.
KernelCost kernel_cost(const DeviceModel& device, const KernelShape& shape,
                       const BlockCounters& counters, uint64_t counted_blocks);

// Residency alone.
void set_residency(const DeviceSpec& spec, const KernelShape& shape, KernelCost& cost);

// With other blocks of its own kernel and of others about.
BlockCost cost_in(const DeviceModel& device, const CacheDependence& caches,
                  const CacheSituation& where);

// How many such blocks an empty SM holds; 0: the block cannot run on this device.
uint32_t blocks_per_sm(const DeviceSpec& spec, const KernelCost& cost);

}  // namespace gacer::simdevice
