// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph_handles.h"

#include "runtime/simdevice/driver/driver.h"

namespace gacer::simdriver {

GraphHandles& graph_handles() {
  static GraphHandles& handles = *new GraphHandles;
  return handles;
}

CUresult find_graph(CUgraph handle, std::shared_ptr<Graph>& out) {
  SIM_TRY(Driver::get().ready());
  out = graph_handles().graphs.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find_node(CUgraphNode handle, std::shared_ptr<GraphNode>& out) {
  SIM_TRY(Driver::get().ready());
  out = graph_handles().nodes.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find_exec(CUgraphExec handle, std::shared_ptr<GraphExec>& out) {
  SIM_TRY(Driver::get().ready());
  out = graph_handles().execs.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find_nodes(const CUgraphNode* handles, size_t count, std::vector<GraphNode*>& out) {
  if (count > 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    std::shared_ptr<GraphNode> node;
    SIM_TRY(find_node(handles[i], node));
    out.push_back(node.get());  // its graph keeps it
  }
  return CUDA_SUCCESS;
}

CUresult add_graph_node(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* dependencies,
                        size_t count, Work work) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(graph_handle, graph));
  std::vector<GraphNode*> before;
  SIM_TRY(find_nodes(dependencies, count, before));
  GraphNode* node = graph->add(std::move(work), before);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  publish_node(graph->nodes.back());
  *out = handle_of(node);
  return CUDA_SUCCESS;
}

CUresult check_edge_data(const CUgraphEdgeData* data, size_t count) {
  for (size_t i = 0; data != nullptr && i < count; ++i) {
    const bool programmatic = data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    const unsigned last_port =
        programmatic ? CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER : CU_GRAPH_KERNEL_NODE_PORT_DEFAULT;
    if ((!programmatic && data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) ||
        data[i].from_port > last_port || data[i].to_port != 0)
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void publish_node(const std::shared_ptr<GraphNode>& node) {
  graph_handles().nodes.add(node);
  if (const auto* child = std::get_if<ChildGraphWork>(&node->work)) publish(child->graph);
  if (const auto* condition = std::get_if<ConditionalWork>(&node->work))
    for (const auto& body : condition->bodies) publish(body);
}

CUgraph publish(const std::shared_ptr<Graph>& graph) {
  for (const auto& node : graph->nodes) publish_node(node);
  return graph_handles().graphs.add(graph);
}

void withdraw_node(const GraphNode& node) {
  graph_handles().nodes.remove(handle_of(&node));
  const auto forget = [](const Graph& inner) {
    withdraw(inner);
    graph_handles().graphs.remove(handle_of(&inner));
  };
  if (const auto* child = std::get_if<ChildGraphWork>(&node.work)) forget(*child->graph);
  if (const auto* condition = std::get_if<ConditionalWork>(&node.work))
    for (const auto& body : condition->bodies) forget(*body);
}

void withdraw(const Graph& graph) {
  for (const auto& node : graph.nodes) withdraw_node(*node);
}

CUresult answer_list(const std::vector<GraphNode*>& found, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const size_t room = *count;
  if (out == nullptr) {
    *count = found.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < room; ++i) out[i] = i < found.size() ? handle_of(found[i]) : nullptr;
  *count = std::min(room, found.size());
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
