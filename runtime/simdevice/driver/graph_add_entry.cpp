// SPDX-License-Identifier: Apache-2.0
// cuGraphAdd*Node, cuGraph*Node{Get,Set}Params
#include <memory>

#include "runtime/simdevice/driver/conditional.h"
#include "runtime/simdevice/driver/copy.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_handles.h"
#include "runtime/simdevice/driver/graph_params.h"
#include "runtime/simdevice/driver/launch.h"

using namespace gacer::simdriver;

namespace {

template <typename Params>
CUresult add_from(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                  const Params* params) {
  SIM_TRY(Driver::get().ready());
  Work work;
  SIM_TRY(to_work(params, work));
  return add_graph_node(out, graph, dependencies, count, std::move(work));
}

template <typename Params>
CUresult set_params(CUgraphNode handle, const Params* params) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  Work work;
  SIM_TRY(to_work(params, work));
  const std::lock_guard lock(graph_lock());
  return replace_work(node->work, std::move(work));
}

template <typename W>
CUresult set_event(CUgraphNode handle, CUevent event_handle) {
  std::shared_ptr<GraphNode> node;
  std::shared_ptr<Event> event;
  SIM_TRY(find_node(handle, node));
  SIM_TRY(find_event(event_handle, event));
  const std::lock_guard lock(graph_lock());
  return replace_work(node->work, W{std::move(event)});
}

template <typename W, typename Params, typename Reader>
CUresult get_params(CUgraphNode handle, Params* out, const Reader& reader) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  const std::lock_guard lock(graph_lock());
  const W* work = std::get_if<W>(&node->work);
  if (out == nullptr || work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reader(*work);
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult get_kernel_params(CUgraphNode handle, Params* out) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  const std::lock_guard lock(graph_lock());
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : read_params(*node, *out);
}

CUDA_MEMSET_NODE_PARAMS describe_memset(const MemsetWork& work) {
  return {work.dst, work.pitch, work.value, work.element_bytes, work.width_elements, work.height};
}
CUDA_HOST_NODE_PARAMS describe_host(const HostWork& work) {
  return {work.function, work.user_data};
}

template <typename W>
CUevent event_of(const W& work) {
  return HandleTable<CUevent, Event>::to_handle(work.event.get());
}

}  // namespace

CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return add_from(out, graph, deps, count, params);
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return add_from(out, graph, deps, count, params);
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                              size_t count, const CUDA_MEMCPY3D* params, CUcontext) {
  return add_from(out, graph, deps, count, params);
}
CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return add_from(out, graph, deps, count, params);
}
CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps, size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
  return add_from(out, graph, deps, count, params);
}
CUresult cuGraphAddBatchMemOpNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                                  size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return add_from(out, graph, deps, count, params);
}
CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                             size_t count) {
  return add_graph_node(out, graph, deps, count, EmptyWork{});
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                                  size_t count, CUgraph child) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  return add_from(out, graph, deps, count, &params);
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                                   size_t count, CUevent event) {
  Work work;
  SIM_TRY(to_work_record(event, work));
  return add_graph_node(out, graph, deps, count, std::move(work));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                                 size_t count, CUevent event) {
  Work work;
  SIM_TRY(to_work_wait(event, work));
  return add_graph_node(out, graph, deps, count, std::move(work));
}
CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps, size_t count,
                        CUgraphNodeParams* params) {
  if (params != nullptr && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    const auto& in = params->alloc;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{in.poolProps, in.accessDescs, in.accessDescCount, in.bytesize,
                                     0};
    SIM_TRY(cuGraphAddMemAllocNode(out, graph, deps, count, &alloc));
    params->alloc.dptr = alloc.dptr;
    return CUDA_SUCCESS;
  }
  if (params != nullptr && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    Work work;
    SIM_TRY(Driver::get().ready());
    SIM_TRY(make_conditional(params->conditional, work));
    return add_graph_node(out, graph, deps, count, std::move(work));
  }
  if (params != nullptr && params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
    return cuGraphAddMemFreeNode(out, graph, deps, count, params->free.dptr);
  return add_from(out, graph, deps, count, params);
}
CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* deps,
                           const CUgraphEdgeData* edge_data, size_t count,
                           CUgraphNodeParams* params) {
  if (edge_data == nullptr) return cuGraphAddNode(out, graph, deps, count, params);
  SIM_TRY(check_edge_data(edge_data, count));
  const std::lock_guard lock(graph_lock());
  SIM_TRY(cuGraphAddNode(out, graph, deps, count, params));
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(*out, node));
  node->edge_data.assign(edge_data, edge_data + count);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return set_params(node, params);
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return set_params(node, params);
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return set_params(node, params);
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  return set_params(node, params);
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return set_params(node, params);
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return set_params(node, params);
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set_params(node, params);
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_event<EventRecordWork>(node, event);
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_event<EventWaitWork>(node, event);
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  const std::lock_guard lock(graph_lock());
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : read_params(*node, *out);
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return get_kernel_params(node, out);
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* out) {
  return get_kernel_params(node, out);
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* out) {
  return get_params<CopyWork>(node, out, describe_copy);
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) {
  return get_params<MemsetWork>(node, out, describe_memset);
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* out) {
  return get_params<HostWork>(node, out, describe_host);
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
  return get_params<EventRecordWork>(node, out, event_of<EventRecordWork>);
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
  return get_params<EventWaitWork>(node, out, event_of<EventWaitWork>);
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  return get_params<ChildGraphWork>(
      node, out, [](const ChildGraphWork& work) { return handle_of(work.graph.get()); });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID id,
                                       const CUkernelNodeAttrValue* value) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  const std::lock_guard lock(graph_lock());
  auto* work = std::get_if<KernelWork>(&node->work);
  if (work == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return apply_attribute(id, *value, *work);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID id,
                                       CUkernelNodeAttrValue* out) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  const std::lock_guard lock(graph_lock());
  const auto* work = std::get_if<KernelWork>(&node->work);
  if (work == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    out->priority = work->priority == kStreamPriority ? 0 : work->priority;
  } else if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
    out->cooperative = work->cooperative ? 1 : 0;
  } else if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    out->clusterDim = {1, 1, 1};
  } else {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst_handle, CUgraphNode src_handle) {
  std::shared_ptr<GraphNode> dst;
  std::shared_ptr<GraphNode> src;
  SIM_TRY(find_node(dst_handle, dst));
  SIM_TRY(find_node(src_handle, src));
  const std::lock_guard lock(graph_lock());
  auto* to = std::get_if<KernelWork>(&dst->work);
  const auto* from = std::get_if<KernelWork>(&src->work);
  if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  to->priority = from->priority;
  to->cooperative = from->cooperative;
  return CUDA_SUCCESS;
}
