// SPDX-License-Identifier: Apache-2.0
// cuStream* but for values and capture, cuLaunchHostFunc
#include <algorithm>
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/event.h"
#include "runtime/simdevice/driver/mem_pool.h"
#include "runtime/simdevice/driver/submit.h"

using namespace gacer::simdriver;

namespace {

constexpr int kGreatestPriority = -5;

CUresult create_stream(CUstream* out, unsigned flags, int priority) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SIM_TRY(make_stream(context, flags, std::clamp(priority, kGreatestPriority, 0), stream));
  *out = Driver::get().streams.add(std::move(stream));
  return CUDA_SUCCESS;
}

CUresult synchronize(CUstream handle) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  SIM_TRY(refuse_on_capturing(*stream));
  SIM_TRY(synchronize_stream(*stream));
  return observe_completion();
}

CUresult query(CUstream handle) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  SIM_TRY(refuse_on_capturing(*stream));
  return Driver::get().link().stream_done(stream->counter->id, stream->last_seq())
             ? CUDA_SUCCESS
             : CUDA_ERROR_NOT_READY;
}

CUresult wait_event(CUstream handle, CUevent event_handle, unsigned flags) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  SIM_TRY(resolve_stream(handle, stream));
  SIM_TRY(find_event(event_handle, event));
  if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool concerns_capture =
      captures_active() || event->captured.load(std::memory_order_relaxed);
  if (concerns_capture && (flags & CU_EVENT_WAIT_EXTERNAL) == 0) {
    bool captured = false;
    SIM_TRY(capture_wait(stream, *event, captured));
    if (captured) return CUDA_SUCCESS;
  }
  return submit(stream, EventWaitWork{event});
}

CUresult get_priority(CUstream handle, int* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->priority;
  return CUDA_SUCCESS;
}

CUresult get_flags(CUstream handle, unsigned* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->flags;
  return CUDA_SUCCESS;
}

CUresult get_id(CUstream handle, unsigned long long* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->unique_id;
  return CUDA_SUCCESS;
}

CUresult get_context(CUstream handle, CUcontext* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = stream->context.lock();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *out = HandleTable<CUcontext, Context>::to_handle(&context->root());
  return CUDA_SUCCESS;
}

CUresult get_green(CUstream handle, CUgreenCtx* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = stream->context.lock();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *out = context->green() ? HandleTable<CUgreenCtx, Context>::to_handle(context.get()) : nullptr;
  return CUDA_SUCCESS;
}

CUresult get_context_v2(CUstream handle, CUcontext* out, CUgreenCtx* green) {
  SIM_TRY(get_context(handle, out));
  return green != nullptr ? get_green(handle, green) : CUDA_SUCCESS;
}

CUresult get_device(CUstream handle, CUdevice* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = stream->context.lock();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *out = context->device();
  return CUDA_SUCCESS;
}

// Those that a program may set: hints that change neither results nor what is timed, kept to be
// read and copied.
bool is_stream_attribute(CUstreamAttrID attribute) {
  return attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
         attribute == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
         attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN ||
         attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
}

CUstreamAttrValue default_attribute(CUstreamAttrID attribute) {
  CUstreamAttrValue value{};
  if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
    value.syncPolicy = CU_SYNC_POLICY_AUTO;
  if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap = {0, 1};
  return value;
}

bool attribute_is_valid(CUstreamAttrID attribute, const CUstreamAttrValue& value) {
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return value.syncPolicy >= CU_SYNC_POLICY_AUTO &&
             value.syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return value.accessPolicyWindow.hitRatio >= 0 && value.accessPolicyWindow.hitRatio <= 1 &&
             value.accessPolicyWindow.missProp != CU_ACCESS_PROPERTY_PERSISTING;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT ||
             value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    default:
      return true;
  }
}

CUresult get_attribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    out->priority = stream->priority;
    return CUDA_SUCCESS;
  }
  if (!is_stream_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(stream->attributes_mutex);
  const auto found = stream->attributes.find(attribute);
  *out = found != stream->attributes.end() ? found->second : default_attribute(attribute);
  return CUDA_SUCCESS;
}

CUresult set_attribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (value == nullptr || !is_stream_attribute(attribute) || !attribute_is_valid(attribute, *value))
    return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(stream->attributes_mutex);
  stream->attributes[attribute] = *value;
  return CUDA_SUCCESS;
}

// Both must be of one context.
CUresult copy_attributes(CUstream dst_handle, CUstream src_handle) {
  std::shared_ptr<Stream> dst;
  std::shared_ptr<Stream> src;
  SIM_TRY(resolve_stream(dst_handle, dst));
  SIM_TRY(resolve_stream(src_handle, src));
  if (dst->context_id != src->context_id) return CUDA_ERROR_INVALID_VALUE;
  if (dst == src) return CUDA_SUCCESS;
  const std::scoped_lock lock(dst->attributes_mutex, src->attributes_mutex);
  dst->attributes = src->attributes;
  return CUDA_SUCCESS;
}

CUresult launch_host_function(CUstream handle, CUhostFn function, void* user_data) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return submit(stream, HostWork{function, nullptr, nullptr, user_data, nullptr});
}

CUresult add_callback(CUstream handle, CUstreamCallback callback, void* user_data, unsigned flags) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_on_capturing(*stream));
  return submit(stream, HostWork{nullptr, callback, handle, user_data, nullptr});
}

// Managed memory is always visible to all streams.
CUresult attach_memory(CUstream handle, CUdeviceptr address, size_t, unsigned) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  const auto allocation = Driver::get().memory.find(address);
  return allocation && allocation->kind == MemoryKind::kManaged ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  return create_stream(out, flags, 0);
}
CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return create_stream(out, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  SIM_TRY(Driver::get().initialized());
  std::shared_ptr<Stream> stream = Driver::get().streams.find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const auto context = stream->context.lock(); context == nullptr || context->closed())
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  stream = Driver::get().streams.remove(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  forget_capture(*stream);
  end_stream(*stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream handle) {
  return cuStreamDestroy_v2(handle);
}

SIM_STREAM_PAIR(cuStreamSynchronize, _ptsz, (CUstream stream), synchronize, stream)
SIM_STREAM_PAIR(cuStreamQuery, _ptsz, (CUstream stream), query, stream)
SIM_STREAM_PAIR(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
                wait_event, stream, event, flags)
SIM_STREAM_PAIR(cuStreamGetPriority, _ptsz, (CUstream stream, int* out), get_priority, stream, out)
SIM_STREAM_PAIR(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned* out), get_flags, stream, out)
SIM_STREAM_PAIR(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long* out), get_id, stream,
                out)
SIM_STREAM_PAIR(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext* out), get_context, stream, out)
SIM_STREAM_PAIR(cuStreamGetCtx_v2, _ptsz, (CUstream stream, CUcontext* out, CUgreenCtx* green),
                get_context_v2, stream, out, green)
SIM_STREAM_PAIR(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice* out), get_device, stream, out)
SIM_STREAM_PAIR(cuStreamGetAttribute, _ptsz,
                (CUstream stream, CUstreamAttrID id, CUstreamAttrValue* out), get_attribute, stream,
                id, out)
SIM_STREAM_PAIR(cuStreamSetAttribute, _ptsz,
                (CUstream stream, CUstreamAttrID id, const CUstreamAttrValue* value), set_attribute,
                stream, id, value)
CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  return copy_attributes(dst, src);
}
CUresult cuStreamCopyAttributes_ptsz(CUstream dst, CUstream src) {
  return copy_attributes(per_thread(dst), per_thread(src));
}
SIM_STREAM_PAIR(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* data),
                launch_host_function, stream, function, data)
SIM_STREAM_PAIR(cuStreamAddCallback, _ptsz,
                (CUstream stream, CUstreamCallback callback, void* data, unsigned flags),
                add_callback, stream, callback, data, flags)
SIM_STREAM_PAIR(cuStreamAttachMemAsync, _ptsz,
                (CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags), attach_memory,
                stream, address, bytes, flags)

CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* out) {
  return get_green(stream, out);
}
