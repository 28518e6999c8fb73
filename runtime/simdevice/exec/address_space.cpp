// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

const MemoryRegion* AddressSpace::find_slow(uint64_t address, uint64_t bytes,
                                            const MemoryRegion*& hint) const {
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](uint64_t a, const MemoryRegion& r) { return a < r.base; });
  if (after == regions_.begin()) return nullptr;
  const MemoryRegion& region = *--after;
  const uint64_t offset = address - region.base;
  if (offset >= region.bytes || bytes > region.bytes - offset) return nullptr;
  hint = &region;
  return &region;
}

void BlockCounters::add(const BlockCounters& o) {
  thread_instructions += o.thread_instructions;
  warp_instructions += o.warp_instructions;
  fp32_warp += o.fp32_warp;
  fp64_warp += o.fp64_warp;
  int_warp += o.int_warp;
  sfu_warp += o.sfu_warp;
  tensor_warp += o.tensor_warp;
  memory_warp += o.memory_warp;
  shared_warp += o.shared_warp;
  barrier_warp += o.barrier_warp;
  global_sectors_read += o.global_sectors_read;
  global_sectors_written += o.global_sectors_written;
  atomics += o.atomics;
  unique_bytes_read += o.unique_bytes_read;
  unique_bytes_written += o.unique_bytes_written;
  longest_warp_instructions = std::max(longest_warp_instructions, o.longest_warp_instructions);
  longest_warp_global_loads = std::max(longest_warp_global_loads, o.longest_warp_global_loads);
  longest_warp_sleep_ns = std::max(longest_warp_sleep_ns, o.longest_warp_sleep_ns);
  warps += o.warps;
  shared_beats += o.shared_beats;
  for (size_t i = 0; i < kLatencyCount; ++i) chain[i] += o.chain[i];
  for (size_t i = 0; i < kReuseBuckets; ++i) reuse[i].add(o.reuse[i]);
}

}  // namespace gacer::simdevice
