// SPDX-License-Identifier: Apache-2.0
#include "interpose/conditional_bodies.h"

#include <cstdlib>

#include "interpose/driver.h"
#include "interpose/graph_walk.h"

namespace gacer::interpose {

void ConditionalBodies::added(CUgraphNode node, const CUgraphNodeParams& params) {
  if (params.type != CU_GRAPH_NODE_TYPE_CONDITIONAL || params.conditional.phGraph_out == nullptr)
    return;
  const auto key = reinterpret_cast<uint64_t>(node);
  const SpinGuard guard(lock_);
  if (arrays_.set(key, reinterpret_cast<uint64_t>(params.conditional.phGraph_out)) &&
      !counts_.set(key, params.conditional.size)) {
    uint64_t unused = 0;
    arrays_.take(key, unused);
  }
  count_.store(arrays_.size(), std::memory_order_relaxed);
}

bool ConditionalBodies::find(CUgraphNode node, const CUgraph*& bodies, unsigned& count) {
  const auto key = reinterpret_cast<uint64_t>(node);
  const SpinGuard guard(lock_);
  const uint64_t* array = arrays_.find(key);
  const uint64_t* length = counts_.find(key);
  if (array == nullptr || length == nullptr) return false;
  bodies = reinterpret_cast<const CUgraph*>(*array);
  count = static_cast<unsigned>(*length);
  return true;
}

void ConditionalBodies::remove_one(CUgraphNode node, int depth) {
  const CUgraph* bodies = nullptr;
  unsigned count = 0;
  if (find(node, bodies, count))
    for (unsigned i = 0; i < count; ++i) remove_below(bodies[i], depth + 1);
  CUgraph child = nullptr;
  if (node_type(node) == CU_GRAPH_NODE_TYPE_GRAPH && child_graph(node, child))
    remove_below(child, depth + 1);
  uint64_t unused = 0;
  const SpinGuard guard(lock_);
  arrays_.take(reinterpret_cast<uint64_t>(node), unused);
  counts_.take(reinterpret_cast<uint64_t>(node), unused);
  count_.store(arrays_.size(), std::memory_order_relaxed);
}

void ConditionalBodies::remove_below(CUgraph graph, int depth) {
  if (depth > kDeepestGraph) return;
  for_each_node(graph, [&](CUgraphNode node) { remove_one(node, depth); });
}

void ConditionalBodies::removing_node(CUgraphNode node) {
  if (count_.load(std::memory_order_relaxed) != 0 && node != nullptr) remove_one(node, 0);
}

void ConditionalBodies::removing_graph(CUgraph graph) {
  if (count_.load(std::memory_order_relaxed) != 0 && graph != nullptr) remove_below(graph, 0);
}

void ConditionalBodies::reset() {
  lock_.unlock();
  arrays_.clear();
  counts_.clear();
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace gacer::interpose
