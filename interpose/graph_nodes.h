// SPDX-License-Identifier: Apache-2.0
// What the nodes of a graph cost, each on its own. The graph's cost is their sum.
//
//   kernel              as the same launch on a stream: the daemon's number where it has told one,
//                       else the guess
//   copy, memset        kSmallNodeNs + its bytes at kNodeBytesPerNs
//   child graph         its nodes
//   conditional         kSmallNodeNs + its bodies' nodes once; the list is `inexact`
//   all others          nothing: no work on the SMs (empty, event, semaphore, host, memory)
#pragma once

#include <cstdint>

#include "interpose/conditional_bodies.h"
#include "interpose/cuda_api.h"
#include "interpose/kernel_registry.h"

namespace gacer::interpose {

inline constexpr uint32_t kSmallNodeNs = 2'000;
inline constexpr uint64_t kNodeBytesPerNs = 1'000;  // as for memsets on streams (launch_path.cpp)
inline constexpr uint32_t kMostGraphNs = 1'000'000'000;

struct NodeCost {
  CUgraphNode node;    // as the program names it in cuGraphExec*SetParams
  CUgraphNode root;    // the node of the outermost graph that it is, or is below of
  uint64_t id;         // summand of the graph's identity; 0: does no work
  uint32_t cost_slot;  // of its kernel's launches, abi::kNoCostSlot: none
  uint32_t guess_ns;
  bool enabled;
};

// Nodes in the order of the walk. Owns its memory; what does not fit is summed up in `rest`.
class NodeList {
 public:
  static constexpr uint32_t kMost = 1U << 16;

  NodeList() = default;
  ~NodeList();
  NodeList(NodeList&& other) noexcept;
  NodeList& operator=(NodeList&& other) noexcept;
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;

  void add(const NodeCost& node);
  void remove_below(CUgraphNode root);
  // NULL: not in the list.
  NodeCost* find(CUgraphNode node);

  NodeCost* begin() { return nodes_; }
  NodeCost* end() { return nodes_ + count_; }
  const NodeCost* begin() const { return nodes_; }
  const NodeCost* end() const { return nodes_ + count_; }
  uint32_t size() const { return count_; }
  uint64_t rest_ns() const { return rest_ns_; }
  uint64_t rest_id() const { return rest_id_; }

  bool inexact = false;  // some node's work is not known

 private:
  bool grow();

  NodeCost* nodes_ = nullptr;
  uint32_t count_ = 0;
  uint32_t capacity_ = 0;
  uint32_t next_search_ = 0;
  uint64_t rest_ns_ = 0;
  uint64_t rest_id_ = 0;
};

struct NodePricing {
  KernelRegistry& kernels;
  ConditionalBodies& conditionals;
  const DeviceFacts& device;
};

// Of a node with these parameters. `node`, `root` and `enabled` are left to the caller.
NodeCost price_node(const CUDA_KERNEL_NODE_PARAMS_v1& params, const NodePricing& pricing);
NodeCost price_node(const CUDA_KERNEL_NODE_PARAMS_v2& params, const NodePricing& pricing);
NodeCost price_node(const CUDA_KERNEL_NODE_PARAMS_v3& params, const NodePricing& pricing);
NodeCost price_node(const CUDA_MEMCPY3D& params, const NodePricing& pricing);
NodeCost price_node(const CUDA_MEMSET_NODE_PARAMS_v1& params, const NodePricing& pricing);
NodeCost price_node(const CUDA_MEMSET_NODE_PARAMS_v2& params, const NodePricing& pricing);

// All nodes of the graph, as nodes of the graph `root` belongs to; NULL: of this graph itself.
void list_nodes(CUgraph graph, CUgraphNode root, const NodePricing& pricing, NodeList& list);

}  // namespace gacer::interpose
