// SPDX-License-Identifier: Apache-2.0
// Entry points: graphs as a whole become executable, are updated, go.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

template <typename Call>
CUresult instantiate(const CUgraphExec* exec, CUgraph graph, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (!scope.outermost() || result != CUDA_SUCCESS || exec == nullptr) return result;
  shim().graphs.instantiated(*exec, graph, shim().session.device());
  shim().graph_memory.instantiated(*exec, graph);
  return result;
}

template <typename Call>
CUresult update(CUgraphExec exec, CUgraph graph, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS)
    shim().graphs.updated(exec, graph, shim().session.device());
  return result;
}

template <typename Call>
CUresult add_node(const CUgraphNode* node, const CUgraphNodeParams* params, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS && node != nullptr && params != nullptr)
    shim().graphs.conditionals().added(*node, *params);
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#define GACER_INSTANTIATE_LOGGED(symbol)                                                       \
  CUresult gacer_hook_##symbol(CUgraphExec* exec, CUgraph graph, CUgraphNode* node, char* log, \
                               size_t log_bytes) {                                             \
    return instantiate(exec, graph,                                                            \
                       [&] { return driver().symbol(exec, graph, node, log, log_bytes); });    \
  }
GACER_INSTANTIATE_LOGGED(cuGraphInstantiate)
GACER_INSTANTIATE_LOGGED(cuGraphInstantiate_v2)

CUresult gacer_hook_cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                unsigned long long flags) {
  return instantiate(exec, graph,
                     [&] { return driver().cuGraphInstantiateWithFlags(exec, graph, flags); });
}

#define GACER_INSTANTIATE_WITH_PARAMS(symbol)                                              \
  CUresult gacer_hook_##symbol(CUgraphExec* exec, CUgraph graph,                           \
                               CUDA_GRAPH_INSTANTIATE_PARAMS* params) {                    \
    return instantiate(exec, graph, [&] { return driver().symbol(exec, graph, params); }); \
  }
GACER_INSTANTIATE_WITH_PARAMS(cuGraphInstantiateWithParams)
GACER_INSTANTIATE_WITH_PARAMS(cuGraphInstantiateWithParams_ptsz)

CUresult gacer_hook_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                                      CUgraphExecUpdateResult* outcome) {
  return update(exec, graph,
                [&] { return driver().cuGraphExecUpdate(exec, graph, error_node, outcome); });
}

CUresult gacer_hook_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                         CUgraphExecUpdateResultInfo* info) {
  return update(exec, graph, [&] { return driver().cuGraphExecUpdate_v2(exec, graph, info); });
}

CUresult gacer_hook_cuGraphExecDestroy(CUgraphExec exec) {
  const HookScope scope;
  if (scope.outermost()) {
    shim().graphs.destroyed(exec);
    shim().graph_memory.destroyed(exec);
  }
  return driver().cuGraphExecDestroy(exec);
}

CUresult gacer_hook_cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                   size_t count, CUgraphNodeParams* params) {
  return add_node(node, params,
                  [&] { return driver().cuGraphAddNode(node, graph, after, count, params); });
}

CUresult gacer_hook_cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                      const CUgraphEdgeData* edges, size_t count,
                                      CUgraphNodeParams* params) {
  return add_node(node, params, [&] {
    return driver().cuGraphAddNode_v2(node, graph, after, edges, count, params);
  });
}

CUresult gacer_hook_cuGraphDestroyNode(CUgraphNode node) {
  const HookScope scope;
  if (scope.outermost()) shim().graphs.conditionals().removing_node(node);
  return driver().cuGraphDestroyNode(node);
}

CUresult gacer_hook_cuGraphDestroy(CUgraph graph) {
  const HookScope scope;
  if (scope.outermost()) shim().graphs.conditionals().removing_graph(graph);
  return driver().cuGraphDestroy(graph);
}

}  // extern "C"
