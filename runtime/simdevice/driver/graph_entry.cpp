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

// `edge_data`: may be null, then all edges are plain.
CUresult change_edges(CUgraph graph_handle, const CUgraphNode* from, const CUgraphNode* to,
                      const CUgraphEdgeData* edge_data, size_t count, Change change) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(graph_handle, graph));
  std::vector<GraphNode*> sources;
  std::vector<GraphNode*> targets;
  if (change == Change::kDisconnect && count > 0 && has_memory_nodes(*graph))
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_edge_data(edge_data, count));
  SIM_TRY(find_nodes(from, count, sources));
  SIM_TRY(find_nodes(to, count, targets));
  for (size_t i = 0; i < count; ++i) {
    if (!graph->owns(sources[i]) || !graph->owns(targets[i])) return CUDA_ERROR_INVALID_VALUE;
    const CUgraphEdgeData data = edge_data == nullptr ? CUgraphEdgeData{} : edge_data[i];
    const bool done = change == Change::kConnect ? Graph::connect(*sources[i], *targets[i], data)
                                                 : Graph::disconnect(*sources[i], *targets[i]);
    if (!done) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

bool is_plain(const CUgraphEdgeData& data) {
  return data.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT && data.from_port == 0 && data.to_port == 0;
}

// A caller that gives no room for the data of edges must not miss any.
CUresult answer_edge_data(const std::vector<CUgraphEdgeData>& data, bool listed, size_t room,
                          CUgraphEdgeData* out) {
  const bool lossy = out == nullptr && listed && !std::all_of(data.begin(), data.end(), is_plain);
  if (lossy) return CUDA_ERROR_LOSSY_QUERY;
  if (out == nullptr || !listed) return CUDA_SUCCESS;
  for (size_t i = 0; i < room; ++i) out[i] = i < data.size() ? data[i] : CUgraphEdgeData{};
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
  std::vector<CUgraphEdgeData> data;
  for (const auto& [source, target] : graph->edges()) {
    sources.push_back(source);
    targets.push_back(target);
    data.push_back(Graph::edge_data(*source, *target));
  }
  size_t room = *count;
  SIM_TRY(answer_edge_data(data, from != nullptr, room, edge_data));
  SIM_TRY(answer_list(sources, from, &room));
  return answer_list(targets, to, count);
}

enum class Side { kDependencies, kDependents };

CUresult get_neighbours(CUgraphNode handle, Side side, CUgraphNode* out, CUgraphEdgeData* edge_data,
                        size_t* count) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& found = side == Side::kDependencies ? node->dependencies : node->dependents;
  std::vector<CUgraphEdgeData> data;
  for (const GraphNode* other : found)
    data.push_back(side == Side::kDependencies ? Graph::edge_data(*other, *node)
                                               : Graph::edge_data(*node, *other));
  SIM_TRY(answer_edge_data(data, out != nullptr, *count, edge_data));
  return answer_list(found, out, count);
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
  return change_edges(graph, from, to, nullptr, count, Change::kConnect);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edge_data, size_t count) {
  return change_edges(graph, from, to, edge_data, count, Change::kConnect);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return change_edges(graph, from, to, nullptr, count, Change::kDisconnect);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* edge_data, size_t count) {
  return change_edges(graph, from, to, edge_data, count, Change::kDisconnect);
}
