// SPDX-License-Identifier: Apache-2.0
// Entry points: streams, events, synchronisation, contexts.
#include <algorithm>

#include "interpose/completion.h"
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

// The daemon's priority: positive the device's most urgent, negative its least, 0 the driver's
// default.
int device_priority(int32_t asked) {
  int least = 0;
  int greatest = 0;
  if (driver().cuCtxGetStreamPriorityRange(&least, &greatest) != CUDA_SUCCESS) return 0;
  if (asked == 0) return std::clamp(0, greatest, least);
  return asked > 0 ? greatest : least;
}

// False: the program's own priority stays.
bool priority_is_ours(int& priority) {
  Attachment* attachment = attached();
  if (attachment == nullptr) return false;
  const int32_t asked = attachment->segment.gate.stream_priority.load(std::memory_order_relaxed);
  if (asked == abi::kPriorityKeep) return false;
  priority = device_priority(asked);
  return true;
}

// The attachment, if marks and polls may be made now.
Attachment* markable(const HookScope& scope) {
  if (!scope.outermost() || shim().captures.any()) return nullptr;
  return shim().session.current();
}

CUcontext current_context() {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return context;
}

// Work that the call is about to wait for, or to ask about, must have its mark behind it; after a
// wait the events have happened.
template <typename Call>
CUresult with_stream_marked(StreamRef stream, const Call& call) {
  const HookScope scope;
  Attachment* attachment = markable(scope);
  if (attachment != nullptr && attachment->streams.used() != 0)
    mark_tail(*attachment, stream_key(stream));
  const CUresult result = call();
  if (attachment != nullptr) poll_events(*attachment);
  return result;
}

template <typename Call>
CUresult with_context_marked(const Call& call) {
  const HookScope scope;
  Attachment* attachment = markable(scope);
  if (attachment != nullptr && attachment->streams.used() != 0)
    mark_all_tails(*attachment, current_context());
  const CUresult result = call();
  if (attachment != nullptr) poll_events(*attachment);
  return result;
}

void forget_stream(StreamRef stream) {
  const uint64_t key = stream_key(stream);
  shim().captures.forget(key);
  Attachment* attachment = shim().session.current();
  if (attachment != nullptr && !shim().captures.any()) retire_stream(*attachment, key);
}

void forget_context(CUcontext context) {
  if (Attachment* attachment = shim().session.current()) abandon_streams(*attachment, context);
}

bool primary_context_is_gone(CUdevice device) {
  unsigned flags = 0;
  int active = 1;
  return driver().cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
         active == 0;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuStreamCreate(CUstream* stream, unsigned flags) {
  const HookScope scope;
  int priority = 0;
  if (scope.outermost() && priority_is_ours(priority))
    return driver().cuStreamCreateWithPriority(stream, flags, priority);
  return driver().cuStreamCreate(stream, flags);
}

CUresult gacer_hook_cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int own_priority) {
  const HookScope scope;
  int priority = own_priority;
  if (scope.outermost()) priority_is_ours(priority);
  return driver().cuStreamCreateWithPriority(stream, flags, priority);
}

CUresult gacer_hook_cuStreamDestroy_v2(CUstream stream) {
  const HookScope scope;
  if (scope.outermost() && !is_default_stream(stream)) forget_stream({stream, false});
  return driver().cuStreamDestroy_v2(stream);
}

CUresult gacer_hook_cuStreamSynchronize(CUstream stream) {
  return with_stream_marked({stream, false}, [&] { return driver().cuStreamSynchronize(stream); });
}
CUresult gacer_hook_cuStreamSynchronize_ptsz(CUstream stream) {
  return with_stream_marked({stream, true},
                            [&] { return driver().cuStreamSynchronize_ptsz(stream); });
}
CUresult gacer_hook_cuStreamQuery(CUstream stream) {
  return with_stream_marked({stream, false}, [&] { return driver().cuStreamQuery(stream); });
}
CUresult gacer_hook_cuStreamQuery_ptsz(CUstream stream) {
  return with_stream_marked({stream, true}, [&] { return driver().cuStreamQuery_ptsz(stream); });
}

CUresult gacer_hook_cuEventRecord(CUevent event, CUstream stream) {
  return with_stream_marked({stream, false}, [&] { return driver().cuEventRecord(event, stream); });
}
CUresult gacer_hook_cuEventRecord_ptsz(CUevent event, CUstream stream) {
  return with_stream_marked({stream, true},
                            [&] { return driver().cuEventRecord_ptsz(event, stream); });
}
CUresult gacer_hook_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return with_stream_marked({stream, false},
                            [&] { return driver().cuEventRecordWithFlags(event, stream, flags); });
}
CUresult gacer_hook_cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) {
  return with_stream_marked(
      {stream, true}, [&] { return driver().cuEventRecordWithFlags_ptsz(event, stream, flags); });
}

CUresult gacer_hook_cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return with_context_marked([&] { return driver().cuMemcpyDtoH_v2(to, from, bytes); });
}
CUresult gacer_hook_cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t bytes) {
  return with_context_marked([&] { return driver().cuMemcpyDtoH_v2_ptds(to, from, bytes); });
}
CUresult gacer_hook_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return with_context_marked([&] { return driver().cuMemcpy(to, from, bytes); });
}
CUresult gacer_hook_cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return with_context_marked([&] { return driver().cuMemcpy_ptds(to, from, bytes); });
}

CUresult gacer_hook_cuCtxSynchronize() {
  return with_context_marked([&] { return driver().cuCtxSynchronize(); });
}
#if CUDA_VERSION >= 13000
CUresult gacer_hook_cuCtxSynchronize_v2(CUcontext context) {
  return with_context_marked([&] { return driver().cuCtxSynchronize_v2(context); });
}
#endif

CUresult gacer_hook_cuCtxDestroy_v2(CUcontext context) {
  const HookScope scope;
  const CUresult result = driver().cuCtxDestroy_v2(context);
  if (scope.outermost() && result == CUDA_SUCCESS && context != nullptr) forget_context(context);
  return result;
}

CUresult gacer_hook_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  const HookScope scope;
  const CUresult result = driver().cuDevicePrimaryCtxReset_v2(device);
  if (scope.outermost() && result == CUDA_SUCCESS) forget_context(nullptr);
  return result;
}

CUresult gacer_hook_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const HookScope scope;
  const CUresult result = driver().cuDevicePrimaryCtxRelease_v2(device);
  if (scope.outermost() && result == CUDA_SUCCESS && primary_context_is_gone(device))
    forget_context(nullptr);
  return result;
}

}  // extern "C"
