// SPDX-License-Identifier: Apache-2.0
// Memory of graph allocation nodes (cuGraphAddMemAllocNode, or cuMemAllocAsync within a capture).
// Adding a node takes nothing; the driver reserves device memory for all graphs of a device
// together and keeps it until cuDeviceGraphMemTrim. So a device is charged what
// CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT says after a launch or upload, and before one, what the
// graph's nodes ask for beyond the free part of the reserve is reserved:
//
//   instantiated(exec, graph) -> admit(exec, ...) -> the driver launches -> settle(...)
//
// Over the limit, unused reserve is trimmed first; then the launch is refused with
// CUDA_ERROR_OUT_OF_MEMORY. Graphs without such nodes cost one load. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/memory_ledger.h"

namespace gacer::interpose {

class MemoryGraphs {
 public:
  explicit constexpr MemoryGraphs(MemoryLedger& ledger) : ledger_(ledger) {}

  // What admit() has reserved, for settle().
  struct Admission {
    uint32_t device = kNoDevice;
    uint64_t bytes = 0;
  };

  // Any graph with allocation nodes yet?
  bool any() const { return in_use_.load(std::memory_order_relaxed); }
  void instantiated(CUgraphExec exec, CUgraph graph);
  void destroyed(CUgraphExec exec);
  // False: over the limit.
  bool admit(CUgraphExec exec, Admission& admission);
  // After the call, whatever its result.
  void settle(const Admission& admission);
  // After cuDeviceGraphMemTrim and the like.
  void changed(CUdevice device);

  void reset();  // in a fork child, before any other thread exists

 private:
  bool reserve_beyond(uint32_t device, uint64_t wanted, uint64_t& more);
  void make_room(uint32_t device);
  void read(uint32_t device, uint64_t reserved);

  MemoryLedger& ledger_;
  SleepLock lock_;  // before the ledger's
  std::atomic<bool> in_use_{false};
  FlatMap graphs_;  // exec -> bytes of its allocation nodes, device index in the top 8 bits
  uint64_t charged_bytes_[kMaxDevices] = {};
};

}  // namespace gacer::interpose
