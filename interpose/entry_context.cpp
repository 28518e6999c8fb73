// SPDX-License-Identifier: Apache-2.0
// Entry points: the end of contexts. Streams of a context that is gone are forgotten with it.
#include "interpose/completion.h"
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

// What the driver has freed with the context. NULL: its handle was never seen.
void forget_memory(CUcontext context) {
  shim().memory.context_gone(context);
  shim().overhead.context_gone(context);
  shim().pools.synchronised();
}

void forget_context(CUcontext context) {
  shim().captures.forget_context(context);
  if (Attachment* attachment = shim().session.current()) abandon_streams(*attachment, context);
}

bool primary_context_is_gone(CUdevice device) {
  unsigned flags = 0;
  int active = 1;
  return driver().cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
         active == 0;
}

template <typename Call>
CUresult destroy(CUcontext context, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (!scope.outermost() || result != CUDA_SUCCESS || context == nullptr) return result;
  forget_context(context);
  forget_memory(context);
  return result;
}

template <typename Call>
CUresult reset_primary(CUdevice device, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (!scope.outermost() || result != CUDA_SUCCESS) return result;
  forget_context(nullptr);
  forget_memory(shim().overhead.take_primary(device));
  return result;
}

template <typename Call>
CUresult release_primary(CUdevice device, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (!scope.outermost() || result != CUDA_SUCCESS || !primary_context_is_gone(device))
    return result;
  forget_context(nullptr);
  forget_memory(shim().overhead.take_primary(device));
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuCtxDestroy(CUcontext context) {
  return destroy(context, [&] { return driver().cuCtxDestroy(context); });
}
CUresult gacer_hook_cuCtxDestroy_v2(CUcontext context) {
  return destroy(context, [&] { return driver().cuCtxDestroy_v2(context); });
}

CUresult gacer_hook_cuDevicePrimaryCtxReset(CUdevice device) {
  return reset_primary(device, [&] { return driver().cuDevicePrimaryCtxReset(device); });
}
CUresult gacer_hook_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return reset_primary(device, [&] { return driver().cuDevicePrimaryCtxReset_v2(device); });
}

CUresult gacer_hook_cuDevicePrimaryCtxRelease(CUdevice device) {
  return release_primary(device, [&] { return driver().cuDevicePrimaryCtxRelease(device); });
}
CUresult gacer_hook_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return release_primary(device, [&] { return driver().cuDevicePrimaryCtxRelease_v2(device); });
}

}  // extern "C"
