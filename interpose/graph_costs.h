// SPDX-License-Identifier: Apache-2.0
// What an executable graph will cost per launch: the daemon's number for the whole graph once it
// has measured one, until then the sum over its nodes (graph_nodes.h), in which kernels that the
// daemon knows from streams count with their measured cost.
//
// A graph's identity is the sum of its nodes' identities, whatever their order: instantiated again,
// in another process, or after updates that only change arguments, it is the same graph. A launch
// costs one look-up. Launches that kernels make on the device are not seen. Thread-safe.
#pragma once

#include <cstdint>

#include "interpose/conditional_bodies.h"
#include "interpose/cuda_api.h"
#include "interpose/flat_map.h"
#include "interpose/graph_nodes.h"
#include "interpose/kernel_registry.h"
#include "interpose/spin_lock.h"

namespace gacer::interpose {

inline constexpr uint32_t kUnknownGraphNs = 100'000;  // an exec that was instantiated unseen
// Distinct graphs that get a cost slot: a program whose every graph differs leaves the rest of the
// slots to its kernels.
inline constexpr uint32_t kMostGraphSlots = abi::kCostSlots / 4;

struct GraphCost {
  uint64_t id = 0;  // 0: unknown graph
  uint32_t cost_slot = abi::kNoCostSlot;
  uint32_t guess_ns = kUnknownGraphNs;
  bool inexact = true;  // the guess leaves out work that cannot be known: bodies of conditionals
};

struct GraphRecord;

class GraphCosts {
 public:
  explicit constexpr GraphCosts(KernelRegistry& kernels) : kernels_(kernels) {}

  // After the driver's own call has succeeded. The graph an update took its nodes from is named by
  // other handles than the one instantiated; nodes keep the handles of the latter.
  void instantiated(CUgraphExec exec, CUgraph graph, const DeviceFacts& device);
  void updated(CUgraphExec exec, CUgraph graph, const DeviceFacts& device);
  void destroyed(CUgraphExec exec);
  void child_set(CUgraphExec exec, CUgraphNode node, CUgraph child, const DeviceFacts& device);
  void enabled_set(CUgraphExec exec, CUgraphNode node, bool enabled);
  // Params: any type that price_node() takes.
  template <typename Params>
  void params_set(CUgraphExec exec, CUgraphNode node, const Params& params,
                  const DeviceFacts& device) {
    set_cost(exec, node, price_node(params, {kernels_, conditionals_, device}));
  }

  // `costs`: the daemon's numbers; NULL: none.
  GraphCost find(uint64_t exec, const abi::CostTable* costs = nullptr);

  ConditionalBodies& conditionals() { return conditionals_; }

  // In a fork child, before any other thread exists.
  void reset();
  // For tests: the records too. No other thread may use it.
  void forget_all();

 private:
  NodeList list(CUgraph graph, CUgraphNode root, const DeviceFacts& device);
  void replace(CUgraphExec exec, GraphRecord* record);
  GraphRecord* find_record(uint64_t exec);
  void set_cost(CUgraphExec exec, CUgraphNode node, const NodeCost& cost);
  bool refresh(GraphRecord& record, const abi::CostTable* costs);

  KernelRegistry& kernels_;
  ConditionalBodies conditionals_;
  SpinLock lock_;
  FlatMap records_;  // exec -> GraphRecord*
  FlatMap slots_;    // graph id -> cost slot
};

}  // namespace gacer::interpose
