// SPDX-License-Identifier: Apache-2.0
// cuEvent*
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/event.h"
#include "runtime/simdevice/driver/mem_pool.h"
#include "runtime/simdevice/driver/submit.h"

using namespace gacer::simdriver;

namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(CUstream stream_handle, CUevent handle, unsigned flags) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  SIM_TRY(find_event(handle, event));
  SIM_TRY(resolve_stream(stream_handle, stream));
  if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (event->context_id != stream->context_id) return CUDA_ERROR_INVALID_HANDLE;
  const bool concerns_capture =
      captures_active() || event->captured.load(std::memory_order_relaxed);
  if (concerns_capture && (flags & CU_EVENT_RECORD_EXTERNAL) == 0) {
    bool captured = false;
    SIM_TRY(capture_record(stream, *event, captured));
    if (captured) return CUDA_SUCCESS;
  }
  return submit(stream, EventRecordWork{event});
}

CUresult find_record(CUevent handle, std::shared_ptr<Event>& event, EventRecordPoint& out) {
  SIM_TRY(find_event(handle, event));
  SIM_TRY(refuse_captured_event(*event));
  out = newest_record(*event);
  return CUDA_SUCCESS;
}

// One end of an elapsed time.
CUresult finished_record(CUevent handle, uint64_t& device_ns) {
  std::shared_ptr<Event> event;
  EventRecordPoint point;
  SIM_TRY(find_record(handle, event, point));
  if (!point.recorded || !event->timing()) return CUDA_ERROR_INVALID_HANDLE;
  if (!point.done(Driver::get().link())) return CUDA_ERROR_NOT_READY;
  device_ns = Driver::get().link().event_ns(point.event);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuEventCreate(CUevent* out, unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = (flags & CU_EVENT_INTERPROCESS) != 0;
  if (shared && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& driver = Driver::get();
  auto event = std::make_shared<Event>();
  event->context_id = context->id();
  event->flags = flags;
  if (shared) {
    SIM_TRY(make_shared_event(*event));
  } else if (!driver.event_ids.take(driver.link(), event->id, event->generation)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = driver.events.add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle) {
  SIM_TRY(Driver::get().initialized());
  const std::shared_ptr<Event> event = Driver::get().events.remove(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  end_event(*event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent handle) {
  return cuEventDestroy_v2(handle);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return record(stream, event, 0);
}
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
  return record(per_thread(stream), event, 0);
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return record(stream, event, flags);
}
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) {
  return record(per_thread(stream), event, flags);
}

CUresult cuEventQuery(CUevent handle) {
  std::shared_ptr<Event> event;
  EventRecordPoint point;
  SIM_TRY(find_record(handle, event, point));
  return point.done(Driver::get().link()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle) {
  std::shared_ptr<Event> event;
  EventRecordPoint point;
  SIM_TRY(find_record(handle, event, point));
  SIM_TRY(refuse_during_capture());
  SIM_TRY(point.wait(Driver::get().link()));
  return observe_completion();
}

CUresult cuEventElapsedTime_v2(float* out, CUevent start, CUevent end) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  SIM_TRY(finished_record(start, start_ns));
  SIM_TRY(finished_record(end, end_ns));
  *out = static_cast<float>((static_cast<double>(end_ns) - static_cast<double>(start_ns)) * 1e-6);
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* out, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(out, start, end);
}
