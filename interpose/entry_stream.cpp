// SPDX-License-Identifier: Apache-2.0
// Entry points: creation, priority and end of streams.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/stream_marks.h"

namespace gacer::interpose {
namespace {

constexpr int kDefaultPriority = 0;  // of cuStreamCreate

// `plain` is the program's own call, `with` the same with another priority. A handle may have
// belonged to a stream that ended unseen.
template <typename Plain, typename With>
CUresult create_stream(CUstream* stream, int own, const Plain& plain, const With& with) {
  const HookScope scope;
  StreamPriorities& priorities = shim().priorities;
  int priority = own;
  const bool mapped = scope.outermost() && priorities.map(own, priority);
  const CUresult result = mapped ? with(priority) : plain();
  if (result != CUDA_SUCCESS || stream == nullptr) return result;
  if (mapped)
    priorities.remember(*stream, own);
  else
    priorities.forget(*stream);
  return result;
}

void drop_slot(Attachment& attachment, StreamRef stream) {
  const uint64_t key = stream_key(stream);
  // Nothing may be submitted to a stream that goes in the middle of its capture.
  if (!shim().captures.may_submit(stream)) return attachment.streams.drop(key);
  const RelaxedCapture relaxed;
  retire_stream(attachment, key);
}

void forget_stream(CUstream handle) {
  const StreamRef stream{handle, false};
  Attachment* attachment = shim().session.current();
  if (attachment != nullptr) drop_slot(*attachment, stream);
  shim().captures.forget(stream_key(stream));
  shim().priorities.forget(handle);
}

template <typename Call>
CUresult get_priority(CUstream stream, int* priority, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS && priority != nullptr)
    shim().priorities.own_priority(stream, *priority);
  return result;
}

template <typename Call>
CUresult get_attribute(CUstream stream, CUstreamAttrID which, CUstreamAttrValue* value,
                       const Call& call) {
  int unused = 0;
  const bool wanted = which == CU_LAUNCH_ATTRIBUTE_PRIORITY && value != nullptr;
  return get_priority(stream, wanted ? &value->priority : &unused, call);
}

// call(value) sets the attribute.
template <typename Call>
CUresult set_attribute(CUstream stream, CUstreamAttrID which, const CUstreamAttrValue* value,
                       const Call& call) {
  const HookScope scope;
  const bool ours = scope.outermost() && which == CU_LAUNCH_ATTRIBUTE_PRIORITY &&
                    value != nullptr && !is_default_stream(stream);
  CUstreamAttrValue changed{};
  if (!ours || !shim().priorities.map(value->priority, changed.priority)) {
    const CUresult result = call(value);
    if (ours && result == CUDA_SUCCESS) shim().priorities.forget(stream);
    return result;
  }
  const CUresult result = call(&changed);
  if (result == CUDA_SUCCESS) shim().priorities.remember(stream, value->priority);
  return result;
}

// Whether the driver counts the priority among the attributes is seen from what it has copied.
template <typename Call>
CUresult copy_attributes(CUstream to, CUstream from, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  int own = 0;
  if (!scope.outermost() || result != CUDA_SUCCESS || !shim().priorities.own_priority(from, own))
    return result;
  int there = 0;
  int here = 0;
  if (driver().cuStreamGetPriority(from, &there) == CUDA_SUCCESS &&
      driver().cuStreamGetPriority(to, &here) == CUDA_SUCCESS && there == here)
    shim().priorities.remember(to, own);
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuStreamCreate(CUstream* stream, unsigned flags) {
  return create_stream(
      stream, kDefaultPriority, [&] { return driver().cuStreamCreate(stream, flags); },
      [&](int priority) { return driver().cuStreamCreateWithPriority(stream, flags, priority); });
}

CUresult gacer_hook_cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int own) {
  const auto create = [&](int priority) {
    return driver().cuStreamCreateWithPriority(stream, flags, priority);
  };
  return create_stream(
      stream, own, [&] { return create(own); }, create);
}

#if CUDA_VERSION >= 12050
CUresult gacer_hook_cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx context, unsigned flags,
                                           int own) {
  const auto create = [&](int priority) {
    return driver().cuGreenCtxStreamCreate(stream, context, flags, priority);
  };
  return create_stream(
      stream, own, [&] { return create(own); }, create);
}
#endif

CUresult gacer_hook_cuStreamDestroy_v2(CUstream stream) {
  const HookScope scope;
  if (scope.outermost() && !is_default_stream(stream)) forget_stream(stream);
  return driver().cuStreamDestroy_v2(stream);
}
CUresult gacer_hook_cuStreamDestroy(CUstream stream) {
  const HookScope scope;
  if (scope.outermost() && !is_default_stream(stream)) forget_stream(stream);
  return driver().cuStreamDestroy(stream);
}

#define GACER_STREAM_PRIORITY(suffix)                                                            \
  CUresult gacer_hook_cuStreamGetPriority##suffix(CUstream stream, int* priority) {              \
    return get_priority(stream, priority,                                                        \
                        [&] { return driver().cuStreamGetPriority##suffix(stream, priority); }); \
  }                                                                                              \
  CUresult gacer_hook_cuStreamGetAttribute##suffix(CUstream stream, CUstreamAttrID which,        \
                                                   CUstreamAttrValue* value) {                   \
    return get_attribute(stream, which, value, [&] {                                             \
      return driver().cuStreamGetAttribute##suffix(stream, which, value);                        \
    });                                                                                          \
  }                                                                                              \
  CUresult gacer_hook_cuStreamSetAttribute##suffix(CUstream stream, CUstreamAttrID which,        \
                                                   const CUstreamAttrValue* value) {             \
    return set_attribute(stream, which, value, [&](const CUstreamAttrValue* given) {             \
      return driver().cuStreamSetAttribute##suffix(stream, which, given);                        \
    });                                                                                          \
  }                                                                                              \
  CUresult gacer_hook_cuStreamCopyAttributes##suffix(CUstream to, CUstream from) {               \
    return copy_attributes(to, from,                                                             \
                           [&] { return driver().cuStreamCopyAttributes##suffix(to, from); });   \
  }
GACER_STREAM_PRIORITY()
GACER_STREAM_PRIORITY(_ptsz)

}  // extern "C"
