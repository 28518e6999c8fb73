// SPDX-License-Identifier: Apache-2.0
// Entry points: stream capture and graph instantiation.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

template <typename Call>
CUresult begin_capture(StreamRef stream, const Call& call) {
  const HookScope scope;
  if (!scope.outermost()) return call();
  // Before the call, so that no other thread makes an event call of ours in between.
  shim().captures.begun(stream);
  const CUresult result = call();
  if (result != CUDA_SUCCESS) shim().captures.ended(stream);
  return result;
}

template <typename Call>
CUresult end_capture(StreamRef stream, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  // Whatever it answers but "not yours": a capture that was invalidated has ended too.
  const bool goes_on = result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD ||
                       result == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (scope.outermost() && !goes_on) shim().captures.ended(stream);
  return result;
}

template <typename Call>
CUresult instantiate(const CUgraphExec* exec, CUgraph graph, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS && exec != nullptr)
    shim().graphs.instantiated(*exec, graph, shim().kernels, shim().session.device());
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#define GACER_BEGIN_CAPTURE_V1(symbol, per_thread)                                       \
  CUresult gacer_hook_##symbol(CUstream stream) {                                        \
    return begin_capture({stream, per_thread}, [&] { return driver().symbol(stream); }); \
  }
GACER_BEGIN_CAPTURE_V1(cuStreamBeginCapture, false)
GACER_BEGIN_CAPTURE_V1(cuStreamBeginCapture_ptsz, true)

#define GACER_BEGIN_CAPTURE(symbol, per_thread)                                                \
  CUresult gacer_hook_##symbol(CUstream stream, CUstreamCaptureMode mode) {                    \
    return begin_capture({stream, per_thread}, [&] { return driver().symbol(stream, mode); }); \
  }
GACER_BEGIN_CAPTURE(cuStreamBeginCapture_v2, false)
GACER_BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, true)

#define GACER_BEGIN_CAPTURE_TO_GRAPH(symbol, per_thread)                                 \
  CUresult gacer_hook_##symbol(CUstream stream, CUgraph graph, const CUgraphNode* nodes, \
                               const CUgraphEdgeData* edges, size_t count,               \
                               CUstreamCaptureMode mode) {                               \
    return begin_capture({stream, per_thread}, [&] {                                     \
      return driver().symbol(stream, graph, nodes, edges, count, mode);                  \
    });                                                                                  \
  }
GACER_BEGIN_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph, false)
GACER_BEGIN_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz, true)

#define GACER_END_CAPTURE(symbol, per_thread)                                                 \
  CUresult gacer_hook_##symbol(CUstream stream, CUgraph* graph) {                             \
    return end_capture({stream, per_thread}, [&] { return driver().symbol(stream, graph); }); \
  }
GACER_END_CAPTURE(cuStreamEndCapture, false)
GACER_END_CAPTURE(cuStreamEndCapture_ptsz, true)

CUresult gacer_hook_cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                          char* log, size_t log_bytes) {
  return instantiate(exec, graph, [&] {
    return driver().cuGraphInstantiate_v2(exec, graph, error_node, log, log_bytes);
  });
}

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

CUresult gacer_hook_cuGraphExecDestroy(CUgraphExec exec) {
  const HookScope scope;
  if (scope.outermost()) shim().graphs.destroyed(exec);
  return driver().cuGraphExecDestroy(exec);
}

}  // extern "C"
