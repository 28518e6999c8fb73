// SPDX-License-Identifier: Apache-2.0
// Copy nodes of graphs: in three dimensions, linear, to and from symbols; added, changed in the
// graph or in its instance.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/copy.h"
#include "runtime/simdevice/cudart/node_params.h"
#include "runtime/simdevice/cudart/symbols.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

// Where a new node goes.
struct Place {
  cudaGraphNode_t* node;
  cudaGraph_t graph;
  const cudaGraphNode_t* dependencies;
  size_t dependency_count;
};

Outcome add(const Driver& driver, const Place& place, const CUDA_MEMCPY3D& copy) {
  CUcontext context = nullptr;
  RT_TRY(node_context(context));
  return driver.cuGraphAddMemcpyNode(place.node, place.graph, place.dependencies,
                                     place.dependency_count, &copy, context);
}

Outcome change(const Driver& driver, cudaGraphNode_t node, const CUDA_MEMCPY3D& copy) {
  return driver.cuGraphMemcpyNodeSetParams(node, &copy);
}

Outcome change_instance(const Driver& driver, cudaGraphExec_t instance, cudaGraphNode_t node,
                        const CUDA_MEMCPY3D& copy) {
  CUcontext context = nullptr;
  RT_TRY(node_context(context));
  return driver.cuGraphExecMemcpyNodeSetParams(instance, node, &copy, context);
}

Outcome copy_of(const cudaMemcpy3DParms* in, CUDA_MEMCPY3D& out) {
  return in == nullptr ? Outcome(cudaErrorInvalidValue) : driver_copy(*in, out);
}

Outcome copy_to_symbol(const void* symbol, const void* src, size_t count, size_t offset,
                       cudaMemcpyKind kind, CUDA_MEMCPY3D& out) {
  void* dst = nullptr;
  RT_TRY(symbol_as_destination(symbol, count, offset, kind, dst));
  return linear_copy(dst, src, count, kind, out);
}

Outcome copy_from_symbol(void* dst, const void* symbol, size_t count, size_t offset,
                         cudaMemcpyKind kind, CUDA_MEMCPY3D& out) {
  void* src = nullptr;
  RT_TRY(symbol_as_source(symbol, count, offset, kind, src));
  return linear_copy(dst, src, count, kind, out);
}

}  // namespace

namespace impl {

Outcome cudaGraphMemcpyNodeGetParams(const Driver& driver, cudaGraphNode_t node,
                                     cudaMemcpy3DParms* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy{};
  RT_TRY(driver.cuGraphMemcpyNodeGetParams(node, &copy));
  *pNodeParams = runtime_copy(copy);
  return cudaSuccess;
}

Outcome cudaGraphAddMemcpyNode(const Driver& driver, cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                               const cudaGraphNode_t* pDependencies, size_t numDependencies,
                               const cudaMemcpy3DParms* pNodeParams) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_of(pNodeParams, copy));
  return add(driver, {pGraphNode, graph, pDependencies, numDependencies}, copy);
}
Outcome cudaGraphMemcpyNodeSetParams(const Driver& driver, cudaGraphNode_t node,
                                     const cudaMemcpy3DParms* pNodeParams) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_of(pNodeParams, copy));
  return change(driver, node, copy);
}
Outcome cudaGraphExecMemcpyNodeSetParams(const Driver& driver, cudaGraphExec_t hGraphExec,
                                         cudaGraphNode_t node,
                                         const cudaMemcpy3DParms* pNodeParams) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_of(pNodeParams, copy));
  return change_instance(driver, hGraphExec, node, copy);
}

Outcome cudaGraphAddMemcpyNodeToSymbol(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                       cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                       size_t numDependencies, const void* symbol, const void* src,
                                       size_t count, size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_to_symbol(symbol, src, count, offset, kind, copy));
  return add(driver, {pGraphNode, graph, pDependencies, numDependencies}, copy);
}
Outcome cudaGraphMemcpyNodeSetParamsToSymbol(const Driver& driver, cudaGraphNode_t node,
                                             const void* symbol, const void* src, size_t count,
                                             size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_to_symbol(symbol, src, count, offset, kind, copy));
  return change(driver, node, copy);
}
Outcome cudaGraphExecMemcpyNodeSetParamsToSymbol(const Driver& driver, cudaGraphExec_t hGraphExec,
                                                 cudaGraphNode_t node, const void* symbol,
                                                 const void* src, size_t count, size_t offset,
                                                 cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_to_symbol(symbol, src, count, offset, kind, copy));
  return change_instance(driver, hGraphExec, node, copy);
}

Outcome cudaGraphAddMemcpyNodeFromSymbol(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                         cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                         size_t numDependencies, void* dst, const void* symbol,
                                         size_t count, size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_from_symbol(dst, symbol, count, offset, kind, copy));
  return add(driver, {pGraphNode, graph, pDependencies, numDependencies}, copy);
}
Outcome cudaGraphMemcpyNodeSetParamsFromSymbol(const Driver& driver, cudaGraphNode_t node,
                                               void* dst, const void* symbol, size_t count,
                                               size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_from_symbol(dst, symbol, count, offset, kind, copy));
  return change(driver, node, copy);
}
Outcome cudaGraphExecMemcpyNodeSetParamsFromSymbol(const Driver& driver, cudaGraphExec_t hGraphExec,
                                                   cudaGraphNode_t node, void* dst,
                                                   const void* symbol, size_t count, size_t offset,
                                                   cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(copy_from_symbol(dst, symbol, count, offset, kind, copy));
  return change_instance(driver, hGraphExec, node, copy);
}

Outcome cudaGraphAddMemcpyNode1D(const Driver& driver, cudaGraphNode_t* pGraphNode,
                                 cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                 size_t numDependencies, void* dst, const void* src, size_t count,
                                 cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(linear_copy(dst, src, count, kind, copy));
  return add(driver, {pGraphNode, graph, pDependencies, numDependencies}, copy);
}
Outcome cudaGraphMemcpyNodeSetParams1D(const Driver& driver, cudaGraphNode_t node, void* dst,
                                       const void* src, size_t count, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(linear_copy(dst, src, count, kind, copy));
  return change(driver, node, copy);
}
Outcome cudaGraphExecMemcpyNodeSetParams1D(const Driver& driver, cudaGraphExec_t hGraphExec,
                                           cudaGraphNode_t node, void* dst, const void* src,
                                           size_t count, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy{};
  RT_TRY(linear_copy(dst, src, count, kind, copy));
  return change_instance(driver, hGraphExec, node, copy);
}

}  // namespace impl
}  // namespace gacer::cudart
