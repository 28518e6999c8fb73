// SPDX-License-Identifier: Apache-2.0
// Entry points: contexts come into being, which takes device memory (memory_overhead.h), and graph
// memory is made ready or trimmed.
#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

template <typename Call>
CUresult create_context(const CUcontext* context, CUdevice device, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS && context != nullptr)
    shim().overhead.context_created(*context, device);
  return result;
}

template <typename Call>
CUresult upload(CUgraphExec exec, StreamRef stream, const Call& call) {
  const HookScope scope;
  return scope.outermost() ? with_graph_memory(exec, stream, call) : call();
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  return create_context(context, device,
                        [&] { return driver().cuCtxCreate(context, flags, device); });
}
CUresult gacer_hook_cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create_context(context, device,
                        [&] { return driver().cuCtxCreate_v2(context, flags, device); });
}
CUresult gacer_hook_cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count,
                                   unsigned flags, CUdevice device) {
  return create_context(context, device, [&] {
    return driver().cuCtxCreate_v3(context, affinity, count, flags, device);
  });
}
#if CUDA_VERSION >= 12050
CUresult gacer_hook_cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags,
                                   CUdevice device) {
  return create_context(context, device,
                        [&] { return driver().cuCtxCreate_v4(context, params, flags, device); });
}
#endif

CUresult gacer_hook_cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const HookScope scope;
  const CUresult result = driver().cuDevicePrimaryCtxRetain(context, device);
  if (scope.outermost() && result == CUDA_SUCCESS && context != nullptr)
    shim().overhead.primary_retained(*context, device);
  return result;
}

// Makes a graph's memory ready before its first launch.
CUresult gacer_hook_cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return upload(exec, {stream, false}, [&] { return driver().cuGraphUpload(exec, stream); });
}
CUresult gacer_hook_cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  return upload(exec, {stream, true}, [&] { return driver().cuGraphUpload_ptsz(exec, stream); });
}

CUresult gacer_hook_cuDeviceGraphMemTrim(CUdevice device) {
  const HookScope scope;
  const CUresult result = driver().cuDeviceGraphMemTrim(device);
  if (scope.outermost()) shim().graph_memory.changed(device);
  return result;
}

}  // extern "C"
