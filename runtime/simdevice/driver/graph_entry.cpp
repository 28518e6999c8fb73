// SPDX-License-Identifier: Apache-2.0
// cuGraph* that create, take apart and query a graph
#include <algorithm>
#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_handles.h"
#include "runtime/simdevice/driver/graph_memory.h"

using namespace gacer::simdriver;

namespace {

enum class Change { kConnect, kDisconnect };

CUresult change_edges(CUgraph graph_handle, const CUgraphNode* from, const CUgraphNode* to,
                      size_t count, Change change) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(graph_handle, graph));
  std::vector<GraphNode*> sources;
  std::vector<GraphNode*> targets;
  if (change == Change::kDisconnect && count > 0 && has_memory_nodes(*graph))
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(find_nodes(from, count, sources));
  SIM_TRY(find_nodes(to, count, targets));
  for (size_t i = 0; i < count; ++i) {
    if (!graph->owns(sources[i]) || !graph->owns(targets[i])) return CUDA_ERROR_INVALID_VALUE;
    const bool done = change == Change::kConnect ? Graph::connect(*sources[i], *targets[i])
                                                 : Graph::disconnect(*sources[i], *targets[i]);
    if (!done) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult get_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edge_data,
                   size_t* count) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> sources;
  std::vector<GraphNode*> targets;
  for (const auto& [source, target] : graph->edges()) {
    sources.push_back(source);
    targets.push_back(target);
  }
  size_t room = *count;
  SIM_TRY(answer_list(sources, from, &room));
  SIM_TRY(answer_list(targets, to, count));
  if (edge_data != nullptr) std::fill_n(edge_data, *count, CUgraphEdgeData{});
  return CUDA_SUCCESS;
}

enum class Side { kDependencies, kDependents };

CUresult get_neighbours(CUgraphNode handle, Side side, CUgraphNode* out, CUgraphEdgeData* edge_data,
                        size_t* count) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  SIM_TRY(
      answer_list(side == Side::kDependencies ? node->dependencies : node->dependents, out, count));
  if (edge_data != nullptr && out != nullptr) std::fill_n(edge_data, *count, CUgraphEdgeData{});
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphCreate(CUgraph* out, unsigned flags) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(graph_lock());
  *out = publish(std::make_shared<Graph>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  withdraw(*graph);
  graph_handles().graphs.remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  if (has_memory_nodes(*node->graph)) return CUDA_ERROR_INVALID_VALUE;
  withdraw_node(*node);
  node->graph->remove(*node);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* out, CUgraph handle) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  if (out == nullptr || has_memory_nodes(*graph)) return CUDA_ERROR_INVALID_VALUE;
  *out = publish(graph->clone());
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone_handle) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> clone;
  SIM_TRY(find_graph(clone_handle, clone));
  const auto found = clone->clone_of.find(reinterpret_cast<const GraphNode*>(original));
  if (out == nullptr || found == clone->clone_of.end()) return CUDA_ERROR_INVALID_VALUE;
  *out = handle_of(found->second);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* out) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = node->type();
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  std::vector<GraphNode*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return answer_list(all, out, count);
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  return answer_list(graph->roots(), out, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return get_edges(graph, from, to, nullptr, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* edge_data, size_t* count) {
  return get_edges(graph, from, to, edge_data, count);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return get_neighbours(node, Side::kDependencies, out, nullptr, count);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out,
                                       CUgraphEdgeData* edge_data, size_t* count) {
  return get_neighbours(node, Side::kDependencies, out, edge_data, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return get_neighbours(node, Side::kDependents, out, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out,
                                         CUgraphEdgeData* edge_data, size_t* count) {
  return get_neighbours(node, Side::kDependents, out, edge_data, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
  return change_edges(graph, from, to, count, Change::kConnect);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edge_data, size_t count) {
  return edge_data != nullptr ? CUDA_ERROR_NOT_SUPPORTED
                              : change_edges(graph, from, to, count, Change::kConnect);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return change_edges(graph, from, to, count, Change::kDisconnect);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* edge_data, size_t count) {
  return edge_data != nullptr ? CUDA_ERROR_NOT_SUPPORTED
                              : change_edges(graph, from, to, count, Change::kDisconnect);
}
