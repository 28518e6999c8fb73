// SPDX-License-Identifier: Apache-2.0
// cuGraphInstantiate*, cuGraphExec*, cuGraphLaunch
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/graph_handles.h"
#include "runtime/simdevice/driver/graph_memory.h"
#include "runtime/simdevice/driver/graph_params.h"
#include "runtime/simdevice/driver/submit.h"

using namespace gacer::simdriver;

namespace {

constexpr cuuint64_t kSupportedFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                       CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                       CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult create_exec(CUgraphExec* out, CUgraph handle, cuuint64_t flags, CUgraphNode* error_node) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~kSupportedFlags) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // launch from the device
  const bool one_only = has_memory_nodes(*graph);
  if (one_only && !graph->newest_exec.expired()) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<GraphExec> exec;
  const GraphNode* bad = nullptr;
  const CUresult status = instantiate(*graph, exec, bad);
  if (error_node != nullptr) *error_node = handle_of(bad);
  if (status != CUDA_SUCCESS) return status;
  exec->flags = flags;
  if (one_only) graph->newest_exec = exec;
  *out = graph_handles().execs.add(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult create_exec_logged(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                            size_t log_bytes) {
  if (log != nullptr && log_bytes > 0) log[0] = '\0';
  return create_exec(out, graph, 0, error_node);
}

CUresult create_exec_with(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult status = create_exec(out, graph, params->flags, &params->hErrNode_out);
  params->result_out = status == CUDA_SUCCESS            ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                       : params->hErrNode_out != nullptr ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                         : CUDA_GRAPH_INSTANTIATE_ERROR;
  return status;
}

// A launch while capturing makes the graph a child of the one that is recorded.
CUresult launch(CUstream stream_handle, CUgraphExec handle) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<GraphExec> exec;
  SIM_TRY(resolve_stream(stream_handle, stream));
  SIM_TRY(find_exec(handle, exec));
  if (captures_active()) {
    bool captured = false;
    std::shared_ptr<Graph> graph = graph_of(*exec);
    if (is_capturing(*stream) && has_memory_nodes(*graph)) return CUDA_ERROR_INVALID_VALUE;
    SIM_TRY(capture_work(stream, ChildGraphWork{std::move(graph)}, captured));
    if (captured) return CUDA_SUCCESS;
  }
  return launch_exec(*exec, stream);
}

CUresult upload(CUstream stream_handle, CUgraphExec handle) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<GraphExec> exec;
  SIM_TRY(resolve_stream(stream_handle, stream));
  return find_exec(handle, exec);  // nothing to prepare
}

CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResult& result,
                CUgraphNode& error_node) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_exec(handle, exec));
  SIM_TRY(find_graph(graph_handle, graph));
  const GraphNode* bad = nullptr;
  result = update_exec(*exec, *graph, bad);
  error_node = handle_of(bad);
  return result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

// What runs still may use what its graph keeps alive.
void keep_user_objects_while_running(const GraphExec& exec) {
  const std::shared_ptr<Stream> stream = exec.last_stream.lock();
  if (exec.user_objects.empty() || stream == nullptr) return;
  if (Driver::get().link().stream_done(stream->counter->id, stream->last_seq())) return;
  HostWork work;
  work.internal = std::make_shared<const std::function<void()>>([kept = exec.user_objects] {});
  issue(*stream, work, {});
}

CUresult replace_in_exec(CUgraphExec handle, CUgraphNode node, Work work) {
  std::shared_ptr<GraphExec> exec;
  SIM_TRY(find_exec(handle, exec));
  const std::lock_guard lock(exec->mutex);
  GraphExec::Node* found = exec->find(reinterpret_cast<const GraphNode*>(node));
  if (found == nullptr || found->child != nullptr || found->conditional != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  exec->plan.reset();  // the kernel may be of another context
  return replace_work(found->work, std::move(work));
}

template <typename Params>
CUresult set_exec_params(CUgraphExec exec, CUgraphNode node, const Params* params) {
  SIM_TRY(Driver::get().ready());
  Work work;
  SIM_TRY(to_work(params, work));
  return replace_in_exec(exec, node, std::move(work));
}

}  // namespace

CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                            size_t log_bytes) {
  return create_exec_logged(out, graph, error_node, log, log_bytes);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes) {
  return create_exec_logged(out, graph, error_node, log, log_bytes);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return create_exec(out, graph, flags, nullptr);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return create_exec_with(out, graph, params);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* out, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return create_exec_with(out, graph, params);
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  SIM_TRY(Driver::get().initialized());
  const std::shared_ptr<GraphExec> exec = graph_handles().execs.remove(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  keep_user_objects_while_running(*exec);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* out) {
  std::shared_ptr<GraphExec> exec;
  SIM_TRY(find_exec(handle, exec));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = exec->flags;
  return CUDA_SUCCESS;
}

SIM_STREAM_PAIR(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), launch, stream, exec)
SIM_STREAM_PAIR(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), upload, stream, exec)

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return set_exec_params(exec, node, params);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return set_exec_params(exec, node, params);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params, CUcontext) {
  return set_exec_params(exec, node, params);
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return set_exec_params(exec, node, params);
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  return set_exec_params(exec, node, params);
}
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set_exec_params(exec, node, params);
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  return set_exec_params(exec, node, params);
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                            CUgraph child_handle) {
  const std::lock_guard graphs(graph_lock());
  std::shared_ptr<GraphExec> exec;
  std::shared_ptr<Graph> child;
  SIM_TRY(find_exec(handle, exec));
  SIM_TRY(find_graph(child_handle, child));
  const std::lock_guard lock(exec->mutex);
  GraphExec::Node* found = exec->find(reinterpret_cast<const GraphNode*>(node));
  if (found == nullptr || found->child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphNode* bad = nullptr;
  return update_exec(*found->child, *child, bad) == CU_GRAPH_EXEC_UPDATE_SUCCESS
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  Work work;
  SIM_TRY(to_work_record(event, work));
  return replace_in_exec(exec, node, std::move(work));
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  Work work;
  SIM_TRY(to_work_wait(event, work));
  return replace_in_exec(exec, node, std::move(work));
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned enabled) {
  std::shared_ptr<GraphExec> exec;
  SIM_TRY(find_exec(handle, exec));
  const std::lock_guard lock(exec->mutex);
  GraphExec::Node* found = exec->find(reinterpret_cast<const GraphNode*>(node));
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  found->enabled = enabled != 0;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned* out) {
  std::shared_ptr<GraphExec> exec;
  SIM_TRY(find_exec(handle, exec));
  const std::lock_guard lock(exec->mutex);
  const GraphExec::Node* found = exec->find(reinterpret_cast<const GraphNode*>(node));
  if (found == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = found->enabled ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  return update(exec, graph, info->result, info->errorNode);
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                           CUgraphExecUpdateResult* result) {
  if (error_node == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return update(exec, graph, *result, *error_node);
}
