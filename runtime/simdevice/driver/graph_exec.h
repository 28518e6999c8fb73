// SPDX-License-Identifier: Apache-2.0
// An instantiated graph: a snapshot of its nodes in topological order, issued in that order on one
// stream.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/graph.h"
#include "runtime/simdevice/driver/stream.h"

namespace gacer::simdriver {

struct GraphExec {
  struct Node {
    CUgraphNodeType type;
    Work work;                         // empty for a child graph
    std::vector<size_t> dependencies;  // positions in `nodes`
    bool enabled = true;
    std::shared_ptr<GraphExec> child;
  };
  std::mutex mutex;  // launches of one exec, and changes to it, one after the other
  std::vector<Node> nodes;
  std::unordered_map<const GraphNode*, size_t> position;  // keys are only compared
  cuuint64_t flags = 0;
  std::weak_ptr<Stream> last_stream;

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

// Issues all enabled nodes. The exec's lock is taken.
CUresult launch_exec(GraphExec& exec, const std::shared_ptr<Stream>& stream);

}  // namespace gacer::simdriver
