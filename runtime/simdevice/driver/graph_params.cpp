// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph_params.h"

#include "runtime/simdevice/driver/copy.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_handles.h"
#include "runtime/simdevice/driver/graph_memory.h"
#include "runtime/simdevice/driver/kernel_params.h"
#include "runtime/simdevice/driver/launch.h"
#include "runtime/simdevice/driver/memset.h"
#include "runtime/simdevice/driver/stream_value.h"

namespace gacer::simdriver {
namespace {

template <typename Params>
CUresult kernel_work(const Params& p, CUfunction function, Work& out) {
  KernelWork work;
  SIM_TRY(make_kernel_work(function, {p.gridDimX, p.gridDimY, p.gridDimZ},
                           {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes,
                           p.kernelParams, p.extra, work));
  out = std::move(work);
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult fill_kernel_params(GraphNode& node, Params& out) {
  auto* work = std::get_if<KernelWork>(&node.work);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node.param_pointers = param_pointers(work->function->info, work->params);
  out = {};
  out.func = HandleTable<CUfunction, Function>::to_handle(work->function.get());
  out.gridDimX = work->grid[0];
  out.gridDimY = work->grid[1];
  out.gridDimZ = work->grid[2];
  out.blockDimX = work->block[0];
  out.blockDimY = work->block[1];
  out.blockDimZ = work->block[2];
  out.sharedMemBytes = work->dynamic_smem_bytes;
  out.kernelParams = node.param_pointers.data();
  return CUDA_SUCCESS;
}

CUresult to_work_child(CUgraph handle, Work& out) {
  std::shared_ptr<Graph> child;
  SIM_TRY(find_graph(handle, child));
  if (has_memory_nodes(*child)) return CUDA_ERROR_INVALID_VALUE;
  out = ChildGraphWork{child->clone()};
  return CUDA_SUCCESS;
}

CUresult to_work_kernel_v3(const CUDA_KERNEL_NODE_PARAMS_v3& p, Work& out) {
  return kernel_work(p, p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern), out);
}

CUresult to_work_memset_v2(const CUDA_MEMSET_NODE_PARAMS_v2& p, Work& out) {
  const CUDA_MEMSET_NODE_PARAMS params{p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
  return to_work(&params, out);
}

CUresult to_work_host_v2(const CUDA_HOST_NODE_PARAMS_v2& p, Work& out) {
  const CUDA_HOST_NODE_PARAMS params{p.fn, p.userData};
  return to_work(&params, out);
}

CUresult to_work_batch_v2(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& p, Work& out) {
  const CUDA_BATCH_MEM_OP_NODE_PARAMS params{p.ctx, p.count, p.paramArray, p.flags};
  return to_work(&params, out);
}

}  // namespace

CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v1* params, Work& out) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : kernel_work(*params, params->func, out);
}

CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v2* params, Work& out) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return kernel_work(
      *params, params->func != nullptr ? params->func : reinterpret_cast<CUfunction>(params->kern),
      out);
}

CUresult to_work(const CUDA_MEMCPY3D* params, Work& out) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CopyWork work;
  SIM_TRY(make_copy_3d(Driver::get().memory, *params, work));
  out = work;
  return work.width_bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult to_work(const CUDA_MEMSET_NODE_PARAMS* params, Work& out) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMSET_NODE_PARAMS& p = *params;
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4)
    return CUDA_ERROR_INVALID_VALUE;
  MemsetWork work;
  SIM_TRY(make_memset(Driver::get().memory, p.dst, p.pitch, p.elementSize, p.value, p.width,
                      p.height, work));
  out = work;
  return p.width == 0 || p.height == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult to_work(const CUDA_HOST_NODE_PARAMS* params, Work& out) {
  if (params == nullptr || params->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = HostWork{params->fn, nullptr, nullptr, params->userData, nullptr};
  return CUDA_SUCCESS;
}

CUresult to_work(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, Work& out) {
  if (params == nullptr || params->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  BatchWork work;
  SIM_TRY(make_batch(Driver::get().memory, params->paramArray, params->count, work));
  work.context = params->ctx;
  out = std::move(work);
  return CUDA_SUCCESS;
}

CUresult to_work_record(CUevent handle, Work& out) {
  std::shared_ptr<Event> event;
  SIM_TRY(find_event(handle, event));
  out = EventRecordWork{std::move(event)};
  return CUDA_SUCCESS;
}

CUresult to_work_wait(CUevent handle, Work& out) {
  std::shared_ptr<Event> event;
  SIM_TRY(find_event(handle, event));
  out = EventWaitWork{std::move(event)};
  return CUDA_SUCCESS;
}

CUresult to_work(const CUgraphNodeParams* params, Work& out) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return to_work_kernel_v3(params->kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return to_work(&params->memcpy.copyParams, out);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return to_work_memset_v2(params->memset, out);
    case CU_GRAPH_NODE_TYPE_HOST:
      return to_work_host_v2(params->host, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return to_work_child(params->graph.graph, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      out = EmptyWork{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return to_work_wait(params->eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return to_work_record(params->eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return to_work_batch_v2(params->memOp, out);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult replace_work(Work& old, Work work) {
  if (old.index() != work.index()) return CUDA_ERROR_INVALID_VALUE;
  if (auto* kernel = std::get_if<KernelWork>(&work)) {
    kernel->priority = std::get<KernelWork>(old).priority;
    kernel->cooperative = std::get<KernelWork>(old).cooperative;
    SIM_TRY(check_kernel_work(*kernel));
  }
  old = std::move(work);
  return CUDA_SUCCESS;
}

CUresult read_params(GraphNode& node, CUDA_KERNEL_NODE_PARAMS_v1& out) {
  return fill_kernel_params(node, out);
}
CUresult read_params(GraphNode& node, CUDA_KERNEL_NODE_PARAMS_v2& out) {
  return fill_kernel_params(node, out);
}

CUresult read_params(GraphNode& node, CUDA_BATCH_MEM_OP_NODE_PARAMS& out) {
  const auto* work = std::get_if<BatchWork>(&node.work);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node.batch.clear();
  for (const ValueWork& value : work->operations) node.batch.push_back(describe_value(value));
  out = {work->context, static_cast<unsigned>(node.batch.size()), node.batch.data(), 0};
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
