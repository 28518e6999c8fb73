// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes with work and dependencies, and what can be asked of them. No driver calls, no
// server. Everything here, and what captures keep (capture.h), is guarded by graph_lock().
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/work.h"

namespace gacer::simdriver {

std::recursive_mutex& graph_lock();

struct GraphExec;
class UserObjectHold;

struct GraphNode {
  Graph* graph = nullptr;
  Work work;
  std::vector<GraphNode*> dependencies;
  std::vector<GraphNode*> dependents;
  bool enabled = true;
  std::vector<CUgraphEdgeData> edge_data;       // of `dependencies`, at the same places
  std::vector<void*> param_pointers;            // what cuGraphKernelNodeGetParams hands out
  std::vector<CUstreamBatchMemOpParams> batch;  // what cuGraphBatchMemOpNodeGetParams hands out

  CUgraphNodeType type() const;
};

struct Graph {
  std::vector<std::shared_ptr<GraphNode>> nodes;              // in the order they were added
  std::unordered_map<const GraphNode*, GraphNode*> clone_of;  // original -> node of this graph
  std::vector<std::shared_ptr<Conditional>> conditionals;
  std::vector<std::shared_ptr<UserObjectHold>> user_objects;
  std::weak_ptr<GraphExec> newest_exec;  // a graph with memory nodes may have one at a time

  // Adds a node behind `dependencies` (of this graph, no doubles: else nullptr).
  GraphNode* add(Work work, const std::vector<GraphNode*>& dependencies);
  bool owns(const GraphNode* node) const;
  // False when the edge exists already / does not exist.
  static bool connect(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data = {});
  static bool disconnect(GraphNode& from, GraphNode& to);
  void remove(GraphNode& node);
  std::vector<std::pair<GraphNode*, GraphNode*>> edges() const;
  // Precondition: the edge exists.
  static CUgraphEdgeData edge_data(const GraphNode& from, const GraphNode& to);
  std::vector<GraphNode*> roots() const;
  // Dependencies first, else in the order of addition. Shorter than `nodes` when there is a cycle.
  std::vector<GraphNode*> topological_order() const;
  // Deep: child graphs too.
  std::shared_ptr<Graph> clone() const;
};

}  // namespace gacer::simdriver
