// SPDX-License-Identifier: Apache-2.0
// Looking at the nodes of a graph through the driver. None of these calls is ordered with work or
// forbidden during a capture.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "interpose/driver.h"

namespace gacer::interpose {

inline constexpr int kDeepestGraph = 8;  // of child graphs and bodies; a graph may name itself

inline CUgraphNodeType node_type(CUgraphNode node) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  driver().cuGraphNodeGetType(node, &type);
  return type;
}

inline bool child_graph(CUgraphNode node, CUgraph& child) {
  return driver().cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS && child != nullptr;
}

// Without memory for the list, or with a graph that the driver does not know, nothing is visited.
template <typename Visit>
void for_each_node(CUgraph graph, const Visit& visit) {
  size_t count = 0;
  if (driver().cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return;
  auto* nodes = static_cast<CUgraphNode*>(calloc(count, sizeof(CUgraphNode)));
  if (nodes == nullptr) return;
  if (driver().cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS)
    for (size_t i = 0; i < count; ++i) visit(nodes[i]);
  free(nodes);
}

}  // namespace gacer::interpose
