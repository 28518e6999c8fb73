// SPDX-License-Identifier: Apache-2.0
// Entry points: single nodes of an executable graph are changed.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

// change(graphs, device) notes what a successful call has done.
template <typename Call, typename Change>
CUresult changing_exec(const Call& call, const Change& change) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS) change(shim().graphs, shim().session.device());
  return result;
}

template <typename Params, typename Call>
CUresult set_params(CUgraphExec exec, CUgraphNode node, const Params* params, const Call& call) {
  return changing_exec(call, [&](GraphCosts& graphs, const DeviceFacts& device) {
    if (params != nullptr) graphs.params_set(exec, node, *params, device);
  });
}

void note_params(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& params,
                 GraphCosts& graphs, const DeviceFacts& device) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return graphs.params_set(exec, node, params.kernel, device);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return graphs.params_set(exec, node, params.memcpy.copyParams, device);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return graphs.params_set(exec, node, params.memset, device);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return graphs.child_set(exec, node, params.graph.graph, device);
    default:
      return;
  }
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return set_params(exec, node, params,
                    [&] { return driver().cuGraphExecKernelNodeSetParams(exec, node, params); });
}

CUresult gacer_hook_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return set_params(exec, node, params,
                    [&] { return driver().cuGraphExecKernelNodeSetParams_v2(exec, node, params); });
}

CUresult gacer_hook_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_MEMCPY3D* params, CUcontext context) {
  return set_params(exec, node, params, [&] {
    return driver().cuGraphExecMemcpyNodeSetParams(exec, node, params, context);
  });
}

CUresult gacer_hook_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_MEMSET_NODE_PARAMS_v1* params,
                                                   CUcontext context) {
  return set_params(exec, node, params, [&] {
    return driver().cuGraphExecMemsetNodeSetParams(exec, node, params, context);
  });
}

CUresult gacer_hook_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       CUgraph child) {
  return changing_exec(
      [&] { return driver().cuGraphExecChildGraphNodeSetParams(exec, node, child); },
      [&](GraphCosts& graphs, const DeviceFacts& device) {
        graphs.child_set(exec, node, child, device);
      });
}

CUresult gacer_hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                             CUgraphNodeParams* params) {
  return changing_exec([&] { return driver().cuGraphExecNodeSetParams(exec, node, params); },
                       [&](GraphCosts& graphs, const DeviceFacts& device) {
                         if (params != nullptr) note_params(exec, node, *params, graphs, device);
                       });
}

CUresult gacer_hook_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return changing_exec([&] { return driver().cuGraphNodeSetEnabled(exec, node, enabled); },
                       [&](GraphCosts& graphs, const DeviceFacts&) {
                         graphs.enabled_set(exec, node, enabled != 0);
                       });
}

}  // extern "C"
