// SPDX-License-Identifier: Apache-2.0
// Graph nodes of each kind but copies (graph_copy_api.cpp).
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/launch.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/node_params.h"
#include "runtime_impl.h"

namespace gacer::cudart::impl {

Outcome cudaGraphAddKernelNode(const Driver& driver, cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                               const cudaGraphNode_t* pDependencies, size_t numDependencies,
                               const cudaKernelNodeParams* pNodeParams) {
  CUDA_KERNEL_NODE_PARAMS params{};
  RT_TRY(driver_kernel_node(pNodeParams, params));
  return launch_outcome(
      driver.cuGraphAddKernelNode(pGraphNode, graph, pDependencies, numDependencies, &params),
      pNodeParams->gridDim, pNodeParams->blockDim);
}
Outcome cudaGraphKernelNodeGetParams(const Driver& driver, cudaGraphNode_t node,
                                     cudaKernelNodeParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_KERNEL_NODE_PARAMS params{};
  RT_TRY(driver.cuGraphKernelNodeGetParams(node, &params));
  *pNodeParams = runtime_kernel_node(params);
  return cudaSuccess;
}
Outcome cudaGraphKernelNodeSetParams(const Driver& driver, cudaGraphNode_t node,
                                     const cudaKernelNodeParams* pNodeParams) {
  CUDA_KERNEL_NODE_PARAMS params{};
  RT_TRY(driver_kernel_node(pNodeParams, params));
  return driver.cuGraphKernelNodeSetParams(node, &params);
}
Outcome cudaGraphExecKernelNodeSetParams(const Driver& driver, cudaGraphExec_t hGraphExec,
                                         cudaGraphNode_t node,
                                         const cudaKernelNodeParams* pNodeParams) {
  CUDA_KERNEL_NODE_PARAMS params{};
  RT_TRY(driver_kernel_node(pNodeParams, params));
  return driver.cuGraphExecKernelNodeSetParams(hGraphExec, node, &params);
}
Outcome cudaGraphKernelNodeCopyAttributes(const Driver& driver, cudaGraphNode_t hDst,
                                          cudaGraphNode_t hSrc) {
  return driver.cuGraphKernelNodeCopyAttributes(hDst, hSrc);
}
Outcome cudaGraphKernelNodeGetAttribute(const Driver& driver, cudaGraphNode_t hNode,
                                        cudaKernelNodeAttrID attr,
                                        cudaKernelNodeAttrValue* value_out) {
  return driver.cuGraphKernelNodeGetAttribute(hNode, static_cast<CUkernelNodeAttrID>(attr),
                                              same_layout<CUkernelNodeAttrValue>(value_out));
}
Outcome cudaGraphKernelNodeSetAttribute(const Driver& driver, cudaGraphNode_t hNode,
                                        cudaKernelNodeAttrID attr,
                                        const cudaKernelNodeAttrValue* value) {
  return driver.cuGraphKernelNodeSetAttribute(hNode, static_cast<CUkernelNodeAttrID>(attr),
                                              same_layout<CUkernelNodeAttrValue>(value));
}

Outcome cudaGraphAddMemsetNode(const Driver& driver, cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                               const cudaGraphNode_t* pDependencies, size_t numDependencies,
                               const cudaMemsetParams* pMemsetParams) {
  CUDA_MEMSET_NODE_PARAMS params{};
  CUcontext context = nullptr;
  RT_TRY(driver_memset_node(pMemsetParams, params));
  RT_TRY(node_context(context));
  return driver.cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies, &params,
                                     context);
}
Outcome cudaGraphMemsetNodeGetParams(const Driver& driver, cudaGraphNode_t node,
                                     cudaMemsetParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMSET_NODE_PARAMS params{};
  RT_TRY(driver.cuGraphMemsetNodeGetParams(node, &params));
  *pNodeParams = runtime_memset_node(params);
  return cudaSuccess;
}
Outcome cudaGraphMemsetNodeSetParams(const Driver& driver, cudaGraphNode_t node,
                                     const cudaMemsetParams* pNodeParams) {
  CUDA_MEMSET_NODE_PARAMS params{};
  RT_TRY(driver_memset_node(pNodeParams, params));
  return driver.cuGraphMemsetNodeSetParams(node, &params);
}
Outcome cudaGraphExecMemsetNodeSetParams(const Driver& driver, cudaGraphExec_t hGraphExec,
                                         cudaGraphNode_t node,
                                         const cudaMemsetParams* pNodeParams) {
  CUDA_MEMSET_NODE_PARAMS params{};
  CUcontext context = nullptr;
  RT_TRY(driver_memset_node(pNodeParams, params));
  RT_TRY(node_context(context));
  return driver.cuGraphExecMemsetNodeSetParams(hGraphExec, node, &params, context);
}

Outcome cudaGraphAddHostNode(const Driver& driver, cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t* pDependencies, size_t numDependencies,
                             const cudaHostNodeParams* pNodeParams) {
  return driver.cuGraphAddHostNode(pGraphNode, graph, pDependencies, numDependencies,
                                   same_layout<CUDA_HOST_NODE_PARAMS>(pNodeParams));
}
Outcome cudaGraphHostNodeGetParams(const Driver& driver, cudaGraphNode_t node,
                                   cudaHostNodeParams* pNodeParams) {
  return driver.cuGraphHostNodeGetParams(node, same_layout<CUDA_HOST_NODE_PARAMS>(pNodeParams));
}
Outcome cudaGraphHostNodeSetParams(const Driver& driver, cudaGraphNode_t node,
                                   const cudaHostNodeParams* pNodeParams) {
  return driver.cuGraphHostNodeSetParams(node, same_layout<CUDA_HOST_NODE_PARAMS>(pNodeParams));
}
Outcome cudaGraphExecHostNodeSetParams(const Driver& driver, cudaGraphExec_t hGraphExec,
                                       cudaGraphNode_t node,
                                       const cudaHostNodeParams* pNodeParams) {
  return driver.cuGraphExecHostNodeSetParams(hGraphExec, node,
                                             same_layout<CUDA_HOST_NODE_PARAMS>(pNodeParams));
}

Outcome cudaGraphAddChildGraphNode(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                   cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                   size_t numDependencies, cudaGraph_t childGraph) {
  return driver.cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies, numDependencies,
                                         childGraph);
}
Outcome cudaGraphChildGraphNodeGetGraph(const Driver& driver, cudaGraphNode_t node,
                                        cudaGraph_t* pGraph) {
  return driver.cuGraphChildGraphNodeGetGraph(node, pGraph);
}
Outcome cudaGraphExecChildGraphNodeSetParams(const Driver& driver, cudaGraphExec_t hGraphExec,
                                             cudaGraphNode_t node, cudaGraph_t childGraph) {
  return driver.cuGraphExecChildGraphNodeSetParams(hGraphExec, node, childGraph);
}
Outcome cudaGraphAddEmptyNode(const Driver& driver, cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                              const cudaGraphNode_t* pDependencies, size_t numDependencies) {
  return driver.cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies);
}

Outcome cudaGraphAddEventRecordNode(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                    cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                    size_t numDependencies, cudaEvent_t event) {
  return driver.cuGraphAddEventRecordNode(pGraphNode, graph, pDependencies, numDependencies, event);
}
Outcome cudaGraphEventRecordNodeGetEvent(const Driver& driver, cudaGraphNode_t node,
                                         cudaEvent_t* event_out) {
  return driver.cuGraphEventRecordNodeGetEvent(node, event_out);
}
Outcome cudaGraphEventRecordNodeSetEvent(const Driver& driver, cudaGraphNode_t node,
                                         cudaEvent_t event) {
  return driver.cuGraphEventRecordNodeSetEvent(node, event);
}
Outcome cudaGraphExecEventRecordNodeSetEvent(const Driver& driver, cudaGraphExec_t hGraphExec,
                                             cudaGraphNode_t hNode, cudaEvent_t event) {
  return driver.cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event);
}
Outcome cudaGraphAddEventWaitNode(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                  cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                  size_t numDependencies, cudaEvent_t event) {
  return driver.cuGraphAddEventWaitNode(pGraphNode, graph, pDependencies, numDependencies, event);
}
Outcome cudaGraphEventWaitNodeGetEvent(const Driver& driver, cudaGraphNode_t node,
                                       cudaEvent_t* event_out) {
  return driver.cuGraphEventWaitNodeGetEvent(node, event_out);
}
Outcome cudaGraphEventWaitNodeSetEvent(const Driver& driver, cudaGraphNode_t node,
                                       cudaEvent_t event) {
  return driver.cuGraphEventWaitNodeSetEvent(node, event);
}
Outcome cudaGraphExecEventWaitNodeSetEvent(const Driver& driver, cudaGraphExec_t hGraphExec,
                                           cudaGraphNode_t hNode, cudaEvent_t event) {
  return driver.cuGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, event);
}

Outcome cudaGraphAddMemAllocNode(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                 cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                 size_t numDependencies, cudaMemAllocNodeParams* nodeParams) {
  return driver.cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies,
                                       same_layout<CUDA_MEM_ALLOC_NODE_PARAMS>(nodeParams));
}
Outcome cudaGraphMemAllocNodeGetParams(const Driver& driver, cudaGraphNode_t node,
                                       cudaMemAllocNodeParams* params_out) {
  return driver.cuGraphMemAllocNodeGetParams(node,
                                             same_layout<CUDA_MEM_ALLOC_NODE_PARAMS>(params_out));
}
Outcome cudaGraphAddMemFreeNode(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                size_t numDependencies, void* dptr) {
  return driver.cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies,
                                      device_address(dptr));
}
Outcome cudaGraphMemFreeNodeGetParams(const Driver& driver, cudaGraphNode_t node, void* dptr_out) {
  return driver.cuGraphMemFreeNodeGetParams(node, static_cast<CUdeviceptr*>(dptr_out));
}

}  // namespace gacer::cudart::impl
