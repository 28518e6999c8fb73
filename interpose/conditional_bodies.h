// SPDX-License-Identifier: Apache-2.0
// The body graphs of conditional nodes, which the driver tells only when such a node is added.
// Thread-safe.
#pragma once

#include <atomic>

#include "interpose/cuda_api.h"
#include "interpose/flat_map.h"
#include "interpose/spin_lock.h"

namespace gacer::interpose {

class ConditionalBodies {
 public:
  // From the node's parameters after the driver has filled them in; other nodes are ignored.
  void added(CUgraphNode node, const CUgraphNodeParams& params);
  // Before a node or a whole graph goes, with all it holds.
  void removing_node(CUgraphNode node);
  void removing_graph(CUgraph graph);

  // The bodies are the driver's own array, which lives as long as the node. False: unknown node.
  bool find(CUgraphNode node, const CUgraph*& bodies, unsigned& count);

  // In a fork child, before any other thread exists.
  void reset();

 private:
  void remove_below(CUgraph graph, int depth);
  void remove_one(CUgraphNode node, int depth);

  SpinLock lock_;
  FlatMap arrays_;  // node -> address of the array
  FlatMap counts_;  // node -> its length
  std::atomic<uint64_t> count_{0};
};

}  // namespace gacer::interpose
