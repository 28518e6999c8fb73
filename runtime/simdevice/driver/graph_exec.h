// SPDX-License-Identifier: Apache-2.0
// An instantiated graph: a snapshot of its nodes in topological order.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/event.h"
#include "runtime/simdevice/driver/graph.h"
#include "runtime/simdevice/driver/graph_lanes.h"
#include "runtime/simdevice/driver/stream.h"
#include "runtime/simdevice/driver/submit.h"

namespace gacer::simdriver {

struct ConditionalExec;

struct GraphExec {
  struct Node {
    CUgraphNodeType type;
    Work work;                         // empty for a child graph
    std::vector<size_t> dependencies;  // positions in `nodes`
    bool enabled = true;
    std::shared_ptr<GraphExec> child;
    std::shared_ptr<ConditionalExec> conditional;
  };
  std::mutex mutex;  // launches of one exec, and changes to it, one after the other
  std::vector<Node> nodes;
  std::unordered_map<const GraphNode*, size_t> position;  // keys are only compared
  cuuint64_t flags = 0;
  std::weak_ptr<Stream> last_stream;
  std::vector<std::shared_ptr<Conditional>> defaults;  // whose value each launch sets
  std::vector<std::shared_ptr<UserObjectHold>> user_objects;

  // How it is issued; made by the first launch, void once a node changes.
  std::optional<LanePlan> plan;
  uint32_t plan_context = 0;
  std::vector<std::shared_ptr<Event>> signals;  // by node, where the plan wants one
  std::shared_ptr<Event> start;

  // The node made of `node`, nullptr when there is none.
  Node* find(const GraphNode* node);
};

// CUDA_ERROR_INVALID_VALUE: a cycle (`bad`: a node on it).
CUresult instantiate(const Graph& graph, std::shared_ptr<GraphExec>& out, const GraphNode*& bad);

// A graph of the same nodes, for a launch that is captured.
std::shared_ptr<Graph> graph_of(GraphExec& exec);

// Takes the parameters of an identically built graph. CU_GRAPH_EXEC_UPDATE_SUCCESS, or why not and
// where.
CUgraphExecUpdateResult update_exec(GraphExec& exec, const Graph& graph, const GraphNode*& bad);

// Launches the graph (graph_launch.cpp). The exec's lock is taken.
CUresult launch_exec(GraphExec& exec, const std::shared_ptr<Stream>& stream);
// Issues all enabled nodes of a graph that is part of another. The exec's lock is taken.
CUresult issue_graph(GraphExec& exec, const std::shared_ptr<Stream>& stream, const IssueMode& mode);

}  // namespace gacer::simdriver
