// SPDX-License-Identifier: Apache-2.0
// Graphs as wholes: structure, instantiation, launch, user objects, memory of graphs.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/node_params.h"
#include "runtime_impl.h"

namespace gacer::cudart::impl {

Outcome cudaGraphCreate(const Driver& driver, cudaGraph_t* pGraph, unsigned flags) {
  return driver.cuGraphCreate(pGraph, flags);
}
Outcome cudaGraphDestroy(const Driver& driver, cudaGraph_t graph) {
  return driver.cuGraphDestroy(graph);
}
Outcome cudaGraphClone(const Driver& driver, cudaGraph_t* pGraphClone, cudaGraph_t originalGraph) {
  return driver.cuGraphClone(pGraphClone, originalGraph);
}
Outcome cudaGraphNodeFindInClone(const Driver& driver, cudaGraphNode_t* pNode,
                                 cudaGraphNode_t originalNode, cudaGraph_t clonedGraph) {
  return driver.cuGraphNodeFindInClone(pNode, originalNode, clonedGraph);
}
Outcome cudaGraphNodeGetType(const Driver& driver, cudaGraphNode_t node, cudaGraphNodeType* pType) {
  return driver.cuGraphNodeGetType(node, same_layout<CUgraphNodeType>(pType));
}
Outcome cudaGraphGetNodes(const Driver& driver, cudaGraph_t graph, cudaGraphNode_t* nodes,
                          size_t* numNodes) {
  return driver.cuGraphGetNodes(graph, nodes, numNodes);
}
Outcome cudaGraphGetRootNodes(const Driver& driver, cudaGraph_t graph, cudaGraphNode_t* pRootNodes,
                              size_t* pNumRootNodes) {
  return driver.cuGraphGetRootNodes(graph, pRootNodes, pNumRootNodes);
}
Outcome cudaGraphGetEdges(const Driver& driver, cudaGraph_t graph, cudaGraphNode_t* from,
                          cudaGraphNode_t* to, cudaGraphEdgeData* edgeData, size_t* numEdges) {
  return driver.cuGraphGetEdges(graph, from, to, same_layout<CUgraphEdgeData>(edgeData), numEdges);
}
Outcome cudaGraphNodeGetDependencies(const Driver& driver, cudaGraphNode_t node,
                                     cudaGraphNode_t* pDependencies, cudaGraphEdgeData* edgeData,
                                     size_t* pNumDependencies) {
  return driver.cuGraphNodeGetDependencies(
      node, pDependencies, same_layout<CUgraphEdgeData>(edgeData), pNumDependencies);
}
Outcome cudaGraphNodeGetDependentNodes(const Driver& driver, cudaGraphNode_t node,
                                       cudaGraphNode_t* pDependentNodes,
                                       cudaGraphEdgeData* edgeData, size_t* pNumDependentNodes) {
  return driver.cuGraphNodeGetDependentNodes(
      node, pDependentNodes, same_layout<CUgraphEdgeData>(edgeData), pNumDependentNodes);
}
Outcome cudaGraphAddDependencies(const Driver& driver, cudaGraph_t graph,
                                 const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                 const cudaGraphEdgeData* edgeData, size_t numDependencies) {
  return driver.cuGraphAddDependencies(graph, from, to, same_layout<CUgraphEdgeData>(edgeData),
                                       numDependencies);
}
Outcome cudaGraphRemoveDependencies(const Driver& driver, cudaGraph_t graph,
                                    const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                    const cudaGraphEdgeData* edgeData, size_t numDependencies) {
  return driver.cuGraphRemoveDependencies(graph, from, to, same_layout<CUgraphEdgeData>(edgeData),
                                          numDependencies);
}
Outcome cudaGraphDestroyNode(const Driver& driver, cudaGraphNode_t node) {
  return driver.cuGraphDestroyNode(node);
}
Outcome cudaGraphDebugDotPrint(const Driver& driver, cudaGraph_t graph, const char* path,
                               unsigned flags) {
  return driver.cuGraphDebugDotPrint(graph, path, flags);
}

Outcome cudaGraphInstantiate(const Driver& driver, cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                             unsigned long long flags) {
  return driver.cuGraphInstantiateWithFlags(pGraphExec, graph, flags);
}
Outcome cudaGraphInstantiateWithFlags(const Driver& driver, cudaGraphExec_t* pGraphExec,
                                      cudaGraph_t graph, unsigned long long flags) {
  return driver.cuGraphInstantiateWithFlags(pGraphExec, graph, flags);
}
Outcome cudaGraphInstantiateWithParams(const Driver& driver, cudaGraphExec_t* pGraphExec,
                                       cudaGraph_t graph,
                                       cudaGraphInstantiateParams* instantiateParams) {
  return driver.cuGraphInstantiateWithParams(
      pGraphExec, graph, same_layout<CUDA_GRAPH_INSTANTIATE_PARAMS>(instantiateParams));
}
Outcome cudaGraphExecGetFlags(const Driver& driver, cudaGraphExec_t graphExec,
                              unsigned long long* flags) {
  return driver.cuGraphExecGetFlags(graphExec, reinterpret_cast<cuuint64_t*>(flags));
}
Outcome cudaGraphExecUpdate(const Driver& driver, cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                            cudaGraphExecUpdateResultInfo* resultInfo) {
  return driver.cuGraphExecUpdate(hGraphExec, hGraph,
                                  same_layout<CUgraphExecUpdateResultInfo>(resultInfo));
}
Outcome cudaGraphUpload(const Driver& driver, cudaGraphExec_t graphExec, cudaStream_t stream) {
  return driver.cuGraphUpload(graphExec, stream);
}
Outcome cudaGraphLaunch(const Driver& driver, cudaGraphExec_t graphExec, cudaStream_t stream) {
  return driver.cuGraphLaunch(graphExec, stream);
}
Outcome cudaGraphExecDestroy(const Driver& driver, cudaGraphExec_t graphExec) {
  return driver.cuGraphExecDestroy(graphExec);
}
Outcome cudaGraphNodeSetEnabled(const Driver& driver, cudaGraphExec_t hGraphExec,
                                cudaGraphNode_t hNode, unsigned isEnabled) {
  return driver.cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled);
}
Outcome cudaGraphNodeGetEnabled(const Driver& driver, cudaGraphExec_t hGraphExec,
                                cudaGraphNode_t hNode, unsigned* isEnabled) {
  return driver.cuGraphNodeGetEnabled(hGraphExec, hNode, isEnabled);
}

Outcome cudaUserObjectCreate(const Driver& driver, cudaUserObject_t* object_out, void* ptr,
                             cudaHostFn_t destroy, unsigned initialRefcount, unsigned flags) {
  return driver.cuUserObjectCreate(object_out, ptr, destroy, initialRefcount, flags);
}
Outcome cudaUserObjectRetain(const Driver& driver, cudaUserObject_t object, unsigned count) {
  return driver.cuUserObjectRetain(object, count);
}
Outcome cudaUserObjectRelease(const Driver& driver, cudaUserObject_t object, unsigned count) {
  return driver.cuUserObjectRelease(object, count);
}
Outcome cudaGraphRetainUserObject(const Driver& driver, cudaGraph_t graph, cudaUserObject_t object,
                                  unsigned count, unsigned flags) {
  return driver.cuGraphRetainUserObject(graph, object, count, flags);
}
Outcome cudaGraphReleaseUserObject(const Driver& driver, cudaGraph_t graph, cudaUserObject_t object,
                                   unsigned count) {
  return driver.cuGraphReleaseUserObject(graph, object, count);
}

Outcome cudaDeviceGraphMemTrim(const Driver& driver, int device) {
  RT_TRY(check_device(device));
  return driver.cuDeviceGraphMemTrim(device);
}
Outcome cudaDeviceGetGraphMemAttribute(const Driver& driver, int device,
                                       cudaGraphMemAttributeType attr, void* value) {
  RT_TRY(check_device(device));
  return driver.cuDeviceGetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attr),
                                             value);
}
Outcome cudaDeviceSetGraphMemAttribute(const Driver& driver, int device,
                                       cudaGraphMemAttributeType attr, void* value) {
  RT_TRY(check_device(device));
  return driver.cuDeviceSetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attr),
                                             value);
}

Outcome cudaGraphConditionalHandleCreate(const Driver& driver,
                                         cudaGraphConditionalHandle* pHandle_out, cudaGraph_t graph,
                                         unsigned defaultLaunchValue, unsigned flags) {
  CUcontext context = nullptr;
  RT_TRY(node_context(context));
  return driver.cuGraphConditionalHandleCreate(
      reinterpret_cast<CUgraphConditionalHandle*>(pHandle_out), graph, context, defaultLaunchValue,
      flags);
}
Outcome cudaGraphAddNode(const Driver& driver, cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                         const cudaGraphNode_t* pDependencies,
                         const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                         cudaGraphNodeParams* nodeParams) {
  CUgraphNodeParams params{};
  RT_TRY(driver_node(nodeParams, params));
  RT_TRY(driver.cuGraphAddNode(pGraphNode, graph, pDependencies,
                               same_layout<CUgraphEdgeData>(dependencyData), numDependencies,
                               &params));
  give_back(params, *nodeParams);
  return cudaSuccess;
}
Outcome cudaGraphNodeSetParams(const Driver& driver, cudaGraphNode_t node,
                               cudaGraphNodeParams* nodeParams) {
  CUgraphNodeParams params{};
  RT_TRY(driver_node(nodeParams, params));
  return driver.cuGraphNodeSetParams(node, &params);
}
Outcome cudaGraphExecNodeSetParams(const Driver& driver, cudaGraphExec_t graphExec,
                                   cudaGraphNode_t node, cudaGraphNodeParams* nodeParams) {
  CUgraphNodeParams params{};
  RT_TRY(driver_node(nodeParams, params));
  return driver.cuGraphExecNodeSetParams(graphExec, node, &params);
}

}  // namespace gacer::cudart::impl
