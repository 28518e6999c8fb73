// SPDX-License-Identifier: Apache-2.0
// The model's graphs. Nodes run in the order in which they were added.
#include <algorithm>

#include "tests/property/model/call.h"

namespace gacer::property {
namespace {

constexpr uint64_t kGraphBase = 0x400'0000;
constexpr uint64_t kExecBase = 0x480'0000;

uint64_t clone(Call& c, uint64_t graph) {
  const uint64_t copy = lowest_free(c.s.graphs, kGraphBase);
  c.s.graphs[copy].owned = true;
  for (const uint64_t handle : c.s.graphs.at(graph).nodes) {
    Node node = c.s.nodes.at(handle);
    node.graph = copy;
    if (node.child != 0) node.child = clone(c, node.child);
    c.add_node(copy, node);
  }
  return copy;
}

CUresult kernel_work(Call& c, const CUDA_KERNEL_NODE_PARAMS_v2* params, Work& work) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t handle = params->func != nullptr ? number(params->func) : number(params->kern);
  return describe_kernel(c, {handle, params->gridDimX, params->blockDimX}, params->kernelParams,
                         params->extra, work);
}

// NULL: not a kernel node.
Node* kernel_node(Call& c, CUgraphNode handle) {
  const auto found = c.s.nodes.find(number(handle));
  if (found == c.s.nodes.end() || found->second.type != CU_GRAPH_NODE_TYPE_KERNEL) return nullptr;
  return &found->second;
}

CUresult instantiate(Call& c, CUgraphExec* exec, CUgraph graph) {
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = c.s.graphs.find(number(graph));
  if (found == c.s.graphs.end()) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t handle = lowest_free(c.s.execs, kExecBase);
  c.s.execs[handle] = {work_of(c.s, found->first), found->second.nodes};
  answer(exec, handle);
  return CUDA_SUCCESS;
}

bool same_kinds(const WorkList& a, const WorkList& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].kind != b[i].kind) return false;
  return true;
}

}  // namespace

namespace implementation {

CUresult graph_create(Call& c, CUgraph* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t handle = lowest_free(c.s.graphs, kGraphBase);
  c.s.graphs[handle] = {};
  answer(graph, handle);
  return CUDA_SUCCESS;
}

CUresult graph_destroy(Call& c, CUgraph graph) {
  const auto found = c.s.graphs.find(number(graph));
  if (found == c.s.graphs.end() || found->second.owned || found->second.captured)
    return CUDA_ERROR_INVALID_VALUE;
  c.destroy_graph(found->first);
  return CUDA_SUCCESS;
}

CUresult graph_add_kernel(Call& c, CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                          const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  if (node == nullptr || c.s.graphs.count(number(graph)) == 0) return CUDA_ERROR_INVALID_VALUE;
  Node made;
  made.type = CU_GRAPH_NODE_TYPE_KERNEL;
  made.graph = number(graph);
  const CUresult error = kernel_work(c, params, made.work);
  if (error == CUDA_SUCCESS) answer(node, c.add_node(made.graph, made));
  return error;
}

CUresult graph_add_memset(Call& c, CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                          const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  if (node == nullptr || params == nullptr || c.s.graphs.count(number(graph)) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (c.s.contexts.count(number(context)) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  Node made;
  made.type = CU_GRAPH_NODE_TYPE_MEMSET;
  made.graph = number(graph);
  made.work.kind = Work::Kind::kSet;
  made.work.to = params->dst;
  made.work.value = params->value;
  made.work.element = params->elementSize == 0 ? 1 : params->elementSize;
  made.work.bytes = params->width * made.work.element;
  made.work.rows = params->height;
  made.work.to_pitch = params->pitch;
  answer(node, c.add_node(made.graph, made));
  return CUDA_SUCCESS;
}

CUresult graph_add_child(Call& c, CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                         CUgraph child) {
  const bool known = c.s.graphs.count(number(graph)) != 0 && c.s.graphs.count(number(child)) != 0;
  if (node == nullptr || !known || graph == child) return CUDA_ERROR_INVALID_VALUE;
  // Graphs that hold copies of each other grow without end.
  if (c.s.nodes.size() > 64) return CUDA_ERROR_OUT_OF_MEMORY;
  Node made;
  made.type = CU_GRAPH_NODE_TYPE_GRAPH;
  made.graph = number(graph);
  made.child = clone(c, number(child));
  answer(node, c.add_node(made.graph, made));
  return CUDA_SUCCESS;
}

CUresult graph_set_kernel(Call& c, CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  Node* node = kernel_node(c, handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  const CUresult error = kernel_work(c, params, work);
  if (error == CUDA_SUCCESS) node->work = work;
  return error;
}

CUresult graph_get_kernel(Call& c, CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v2* params) {
  const Node* node = kernel_node(c, handle);
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = {};
  if (c.s.kernels.count(node->work.handle) != 0)
    answer(&params->kern, node->work.handle);
  else
    answer(&params->func, node->work.handle);
  params->gridDimX = node->work.grid;
  params->blockDimX = node->work.block;
  params->gridDimY = params->gridDimZ = params->blockDimY = params->blockDimZ = 1;
  return CUDA_SUCCESS;
}

CUresult graph_get_memset(Call& c, CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* params) {
  const auto found = c.s.nodes.find(number(handle));
  if (params == nullptr || found == c.s.nodes.end() ||
      found->second.type != CU_GRAPH_NODE_TYPE_MEMSET)
    return CUDA_ERROR_INVALID_VALUE;
  const Work& work = found->second.work;
  *params = {};
  params->dst = work.to;
  params->value = static_cast<unsigned>(work.value);
  params->elementSize = work.element;
  params->width = work.bytes / work.element;
  params->height = work.rows;
  params->pitch = work.to_pitch;
  return CUDA_SUCCESS;
}

CUresult graph_get_child(Call& c, CUgraphNode handle, CUgraph* graph) {
  const auto found = c.s.nodes.find(number(handle));
  if (graph == nullptr || found == c.s.nodes.end() || found->second.child == 0)
    return CUDA_ERROR_INVALID_VALUE;
  answer(graph, found->second.child);
  return CUDA_SUCCESS;
}

CUresult graph_nodes(Call& c, CUgraph graph, CUgraphNode* nodes, size_t* count) {
  const auto found = c.s.graphs.find(number(graph));
  if (count == nullptr || found == c.s.graphs.end()) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<uint64_t>& all = found->second.nodes;
  if (nodes == nullptr) {
    *count = all.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i) answer(&nodes[i], i < all.size() ? all[i] : 0);
  *count = std::min(*count, all.size());
  return CUDA_SUCCESS;
}

CUresult graph_node_type(Call& c, CUgraphNode handle, CUgraphNodeType* type) {
  const auto found = c.s.nodes.find(number(handle));
  if (type == nullptr || found == c.s.nodes.end()) return CUDA_ERROR_INVALID_VALUE;
  *type = found->second.type;
  return CUDA_SUCCESS;
}

CUresult graph_instantiate(Call& c, CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return instantiate(c, exec, graph);
}

CUresult graph_instantiate_params(Call& c, CUgraphExec* exec, CUgraph graph,
                                  CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return instantiate(c, exec, graph);
}

CUresult graph_exec_update(Call& c, CUgraphExec exec, CUgraph graph,
                           CUgraphExecUpdateResultInfo* info) {
  const auto target = c.s.execs.find(number(exec));
  const auto source = c.s.graphs.find(number(graph));
  if (info == nullptr || target == c.s.execs.end() || source == c.s.graphs.end())
    return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  const auto work = work_of(c.s, source->first);
  if (!same_kinds(*target->second.work, *work)) {
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  target->second.work = work;
  return CUDA_SUCCESS;
}

CUresult graph_exec_set_kernel(Call& c, CUgraphExec exec, CUgraphNode handle,
                               const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  const auto found = c.s.execs.find(number(exec));
  if (found == c.s.execs.end() || kernel_node(c, handle) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  const std::vector<uint64_t>& nodes = found->second.nodes;
  const auto at = std::find(nodes.begin(), nodes.end(), number(handle));
  if (at == nodes.end()) return CUDA_ERROR_INVALID_VALUE;
  auto changed = std::make_shared<WorkList>(*found->second.work);
  Work& work = (*changed)[static_cast<size_t>(at - nodes.begin())];
  const CUresult error = kernel_work(c, params, work);
  if (error == CUDA_SUCCESS) found->second.work = changed;
  return error;
}

CUresult graph_exec_destroy(Call& c, CUgraphExec exec) {
  return c.s.execs.erase(number(exec)) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult graph_launch(Call& c, CUgraphExec exec, CUstream stream) {
  const auto found = c.s.execs.find(number(exec));
  if (found == c.s.execs.end()) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.kind = Work::Kind::kGraph;
  work.graph = found->second.work;
  return c.submit(stream, work);
}

}  // namespace implementation
}  // namespace gacer::property
