// SPDX-License-Identifier: Apache-2.0
// Handles of graphs, nodes and executable graphs.
#pragma once

#include <memory>
#include <vector>

#include "runtime/simdevice/driver/graph.h"
#include "runtime/simdevice/driver/graph_exec.h"
#include "runtime/simdevice/driver/handles.h"

namespace gacer::simdriver {

struct GraphHandles {
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphNode, GraphNode> nodes;
  HandleTable<CUgraphExec, GraphExec> execs;
};
GraphHandles& graph_handles();

// Initialised and known, else CUDA_ERROR_INVALID_VALUE (what the driver answers for graph objects).
CUresult find_graph(CUgraph handle, std::shared_ptr<Graph>& out);
CUresult find_node(CUgraphNode handle, std::shared_ptr<GraphNode>& out);
CUresult find_exec(CUgraphExec handle, std::shared_ptr<GraphExec>& out);
CUresult find_nodes(const CUgraphNode* handles, size_t count, std::vector<GraphNode*>& out);

// Adds a node to the graph behind the handle and makes it findable.
CUresult add_graph_node(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* dependencies,
                        size_t count, Work work);

// Known types and ports only: CUDA_ERROR_INVALID_VALUE.
CUresult check_edge_data(const CUgraphEdgeData* data, size_t count);

// Makes nodes and child graphs of `graph` findable / forgets them.
CUgraph publish(const std::shared_ptr<Graph>& graph);
void publish_node(const std::shared_ptr<GraphNode>& node);
void withdraw(const Graph& graph);
void withdraw_node(const GraphNode& node);

inline CUgraphNode handle_of(const GraphNode* node) {
  return HandleTable<CUgraphNode, GraphNode>::to_handle(node);
}
inline CUgraph handle_of(const Graph* graph) {
  return HandleTable<CUgraph, Graph>::to_handle(graph);
}

// The pattern of all queries: `*count` in: room in `out` (NULL: only ask), out: how many there are;
// the rest of `out` is filled with NULL.
CUresult answer_list(const std::vector<GraphNode*>& found, CUgraphNode* out, size_t* count);

}  // namespace gacer::simdriver
