// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/node_params.h"

#include <cstring>

#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/registry.h"

namespace gacer::cudart {
namespace {

template <typename To, typename From>
void copy_same(const From& from, To& to) {
  static_assert(sizeof(To) == sizeof(From));
  std::memcpy(&to, &from, sizeof(to));
}

cudaKernelNodeParams older_form(const cudaKernelNodeParamsV2& in) {
  return {in.func, in.gridDim, in.blockDim, in.sharedMemBytes, in.kernelParams, in.extra};
}

Outcome driver_conditional(const cudaConditionalNodeParams& in, CUDA_CONDITIONAL_NODE_PARAMS& out) {
  out.handle = in.handle;
  out.type = static_cast<CUgraphConditionalNodeType>(in.type);
  out.size = in.size;
  return node_context(out.ctx);
}

Outcome driver_memset_v2(const cudaMemsetParamsV2& in, CUDA_MEMSET_NODE_PARAMS_v2& out) {
  out.dst = device_address(in.dst);
  out.pitch = in.pitch;
  out.value = in.value;
  out.elementSize = in.elementSize;
  out.width = in.width;
  out.height = in.height;
  return node_context(out.ctx);
}

Outcome driver_memcpy(const cudaMemcpyNodeParams& in, CUDA_MEMCPY_NODE_PARAMS& out) {
  out.flags = in.flags;
  RT_TRY(node_context(out.copyCtx));
  return driver_copy(in.copyParams, out.copyParams);
}

}  // namespace

Outcome node_context(CUcontext& out) {
  return legacy_driver().cuCtxGetCurrent(&out);
}

Outcome driver_kernel_node(const cudaKernelNodeParams* in, CUDA_KERNEL_NODE_PARAMS& out) {
  if (in == nullptr) return cudaErrorInvalidValue;
  out = {};
  RT_TRY(find_loaded_function(in->func, out.func));
  out.gridDimX = in->gridDim.x;
  out.gridDimY = in->gridDim.y;
  out.gridDimZ = in->gridDim.z;
  out.blockDimX = in->blockDim.x;
  out.blockDimY = in->blockDim.y;
  out.blockDimZ = in->blockDim.z;
  out.sharedMemBytes = in->sharedMemBytes;
  out.kernelParams = in->kernelParams;
  out.extra = in->extra;
  return cudaSuccess;
}

cudaKernelNodeParams runtime_kernel_node(const CUDA_KERNEL_NODE_PARAMS& in) {
  const CUfunction function = in.func != nullptr ? in.func : reinterpret_cast<CUfunction>(in.kern);
  return {const_cast<void*>(host_function_of(function)),
          {in.gridDimX, in.gridDimY, in.gridDimZ},
          {in.blockDimX, in.blockDimY, in.blockDimZ},
          in.sharedMemBytes,
          in.kernelParams,
          in.extra};
}

Outcome driver_memset_node(const cudaMemsetParams* in, CUDA_MEMSET_NODE_PARAMS& out) {
  if (in == nullptr) return cudaErrorInvalidValue;
  out = {device_address(in->dst), in->pitch, in->value, in->elementSize, in->width, in->height};
  return cudaSuccess;
}

cudaMemsetParams runtime_memset_node(const CUDA_MEMSET_NODE_PARAMS& in) {
  return {reinterpret_cast<void*>(in.dst), in.pitch, in.value, in.elementSize, in.width, in.height};
}

Outcome driver_node(const cudaGraphNodeParams* in, CUgraphNodeParams& out) {
  if (in == nullptr) return cudaErrorInvalidValue;
  out = {};
  out.type = static_cast<CUgraphNodeType>(in->type);
  switch (in->type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParams kernel = older_form(in->kernel);
      CUDA_KERNEL_NODE_PARAMS converted{};
      RT_TRY(driver_kernel_node(&kernel, converted));
      copy_same(converted, out.kernel);
      return cudaSuccess;
    }
    case cudaGraphNodeTypeMemcpy:
      return driver_memcpy(in->memcpy, out.memcpy);
    case cudaGraphNodeTypeMemset:
      return driver_memset_v2(in->memset, out.memset);
    case cudaGraphNodeTypeConditional:
      return driver_conditional(in->conditional, out.conditional);
    case cudaGraphNodeTypeHost:
      out.host.fn = in->host.fn;
      out.host.userData = in->host.userData;
      return cudaSuccess;
    case cudaGraphNodeTypeGraph:
      copy_same(in->graph, out.graph);
      return cudaSuccess;
    case cudaGraphNodeTypeEmpty:
      return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
      out.eventWait.event = in->eventWait.event;
      return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
      out.eventRecord.event = in->eventRecord.event;
      return cudaSuccess;
    case cudaGraphNodeTypeMemAlloc:
      copy_same(in->alloc, out.alloc);
      return cudaSuccess;
    case cudaGraphNodeTypeMemFree:
      out.free.dptr = device_address(in->free.dptr);
      return cudaSuccess;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
      return cudaErrorNotSupported;
    default:
      return cudaErrorInvalidValue;
  }
}

void give_back(const CUgraphNodeParams& in, cudaGraphNodeParams& out) {
  if (in.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    out.alloc.dptr = reinterpret_cast<void*>(in.alloc.dptr);
  if (in.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
    out.conditional.phGraph_out = in.conditional.phGraph_out;
}

}  // namespace gacer::cudart
