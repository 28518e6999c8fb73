// SPDX-License-Identifier: Apache-2.0
// What an executable graph will cost per launch: the sum over the nodes it was instantiated from.
// Kernel nodes count their guess, other nodes a fixed small cost; what cannot be asked counts as
// such a node. Thread-safe.
#pragma once

#include <cstdint>

#include "interpose/cuda_api.h"
#include "interpose/flat_map.h"
#include "interpose/kernel_registry.h"
#include "interpose/spin_lock.h"

namespace gacer::interpose {

inline constexpr uint32_t kUnknownGraphNs = 100'000;  // an exec that was instantiated unseen
inline constexpr uint32_t kSmallNodeNs = 2'000;

struct GraphCost {
  uint64_t id = 0;  // hash of its kernels, in node order; 0: unknown graph
  uint32_t cost_slot = abi::kNoCostSlot;
  uint32_t guess_ns = kUnknownGraphNs;
};

class GraphCosts {
 public:
  void instantiated(CUgraphExec exec, CUgraph graph, KernelRegistry& kernels,
                    const DeviceFacts& device);
  void destroyed(CUgraphExec exec);
  GraphCost find(uint64_t exec);

  // In a fork child, before any other thread exists.
  void reset();

 private:
  SpinLock lock_;
  FlatMap slots_;    // exec -> cost slot + 1
  FlatMap guesses_;  // exec -> guess
  FlatMap ids_;      // exec -> id
};

}  // namespace gacer::interpose
