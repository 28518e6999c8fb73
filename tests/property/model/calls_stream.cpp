// SPDX-License-Identifier: Apache-2.0
// The model's streams, events and captures.
#include "tests/property/model/call.h"

namespace gacer::property {
namespace {

constexpr uint64_t kStreamBase = 0x200'0000;
constexpr uint64_t kGraphBase = 0x400'0000;

// The stream of a call that may not be made on a captured one. NULL: `error`.
Stream* waitable(Call& c, CUstream handle, CUresult& error) {
  Stream* stream = c.stream(handle, error);
  if (stream == nullptr) return nullptr;
  error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != 0) {
    c.invalidate(stream->capture);
    return nullptr;
  }
  if (c.unsafe() != CUDA_SUCCESS) return nullptr;
  error = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (stream->legacy && c.break_blocking_capture(stream->context)) return nullptr;
  error = CUDA_SUCCESS;
  return stream;
}

// The legacy default stream has the blocking streams' work before it.
void wait_for_stream(Call& c, Stream& stream) {
  if (!stream.legacy) return c.wait_for(stream.last);
  std::vector<uint64_t> last = {stream.last};
  for (const auto& [order, other] : c.s.streams)
    if (other.context == stream.context && other.blocking) last.push_back(other.last);
  for (const uint64_t operation : last) c.wait_for(operation);
}

void begin(Call& c, Stream& stream, CUstreamCaptureMode mode) {
  const uint64_t id = c.s.next_serial++;
  const uint64_t graph = lowest_free(c.s.graphs, kGraphBase);
  c.s.graphs[graph].captured = true;
  c.s.captures[id] = {mode, c.thread.index, stream.order, graph, false};
  stream.capture = id;
}

// Returns whether other streams had joined and not come back.
bool leave(Call& c, uint64_t id, uint64_t origin) {
  bool forked = false;
  for (auto& [order, stream] : c.s.streams) {
    if (stream.capture != id) continue;
    stream.capture = 0;
    if (order != origin && !stream.joined) forked = true;
  }
  c.s.captures.erase(id);
  return forked;
}

CUresult record(Call& c, CUevent handle, CUstream where) {
  if (!c.program && c.model.faults.no_record) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult error = CUDA_SUCCESS;
  Stream* stream = c.stream(where, error);
  if (stream == nullptr) return error;
  Event* event = c.event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  c.harmless = event->context != stream->context;
  if (c.harmless) return CUDA_ERROR_INVALID_HANDLE;
  Work work;
  work.kind = Work::Kind::kEvent;
  const uint64_t capture = stream->capture;
  error = c.submit_to(*stream, work);
  if (error != CUDA_SUCCESS) return error;
  if (capture != 0 && !c.program) c.model.violation("the shim recorded an event in a capture");
  event->capture = capture;
  event->stream = stream->order;
  event->operation = capture != 0 ? 0 : stream->last;
  return CUDA_SUCCESS;
}

}  // namespace

namespace implementation {

CUresult stream_create_priority(Call& c, CUstream* stream, unsigned flags, int) {
  if (stream == nullptr || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  const uint64_t handle = lowest_free(c.s.stream_orders, kStreamBase);
  const uint64_t order = c.s.contexts.at(c.context()).serial << 32 | (1000 + c.s.next_serial++);
  Stream& made = c.s.streams[order];
  made.context = c.context();
  made.handle = handle;
  made.order = order;
  made.blocking = flags == CU_STREAM_DEFAULT;
  made.flags = flags;
  c.s.stream_orders[handle] = order;
  answer(stream, handle);
  return CUDA_SUCCESS;
}

CUresult stream_create(Call& c, CUstream* stream, unsigned flags) {
  return stream_create_priority(c, stream, flags, 0);
}

CUresult stream_destroy(Call& c, CUstream stream) {
  const auto found = c.s.stream_orders.find(number(stream));
  if (found == c.s.stream_orders.end()) return CUDA_ERROR_INVALID_HANDLE;
  Stream& mine = c.s.streams.at(found->second);
  if (mine.capture != 0) {
    const uint64_t graph = c.s.captures.at(mine.capture).graph;
    leave(c, mine.capture, 0);
    c.destroy_graph(graph);
  }
  mine.gone = true;
  c.s.stream_orders.erase(found);
  return CUDA_SUCCESS;
}

CUresult stream_flags(Call& c, CUstream handle, unsigned* flags) {
  CUresult error = CUDA_SUCCESS;
  const Stream* stream = c.stream(handle, error);
  if (stream == nullptr) return error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult stream_synchronize(Call& c, CUstream handle) {
  CUresult error = CUDA_SUCCESS;
  Stream* stream = waitable(c, handle, error);
  if (stream != nullptr) wait_for_stream(c, *stream);
  return error;
}

CUresult stream_query(Call& c, CUstream handle) {
  CUresult error = CUDA_SUCCESS;
  Stream* stream = waitable(c, handle, error);
  if (stream == nullptr) return error;
  c.model.drain();
  return stream->queue.empty() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult stream_wait(Call& c, CUstream handle, CUevent what, unsigned flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  CUresult error = CUDA_SUCCESS;
  Stream* stream = c.stream(handle, error);
  if (stream == nullptr) return error;
  Event* event = c.event(what);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const bool captured = event->capture != 0 && c.s.captures.count(event->capture) != 0;
  if (captured && stream->legacy) {
    c.invalidate(event->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (captured && stream->capture == 0) {
    stream->capture = event->capture;
    stream->joined = false;
    return CUDA_SUCCESS;
  }
  if (captured && stream->capture == event->capture) {
    const auto from = c.s.streams.find(event->stream);
    if (from != c.s.streams.end()) from->second.joined = true;
    return CUDA_SUCCESS;
  }
  if (captured || (stream->capture != 0 && event->operation != 0)) {
    c.invalidate(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  Work work;
  work.kind = Work::Kind::kWait;
  return c.submit_to(*stream, work, {event->operation});
}

CUresult stream_write(Call& c, CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned) {
  if (!c.program && c.model.faults.no_write) return CUDA_ERROR_NOT_SUPPORTED;
  Work work;
  work.kind = c.program ? Work::Kind::kWrite : Work::Kind::kMark;
  work.to = to;
  work.bytes = 8;
  work.element = 8;
  work.value = value;
  return c.submit(stream, work);
}

CUresult host_function(Call& c, CUstream stream, CUhostFn function, void* data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.kind = Work::Kind::kHost;
  work.host = function;
  work.host_data = data;
  return c.submit(stream, work);
}

CUresult stream_is_capturing(Call& c, CUstream handle, CUstreamCaptureStatus* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult error = CUDA_SUCCESS;
  const Stream* stream = c.stream(handle, error);
  if (stream == nullptr) return error;
  // Documented: this question does not invalidate the capture.
  c.harmless = stream->legacy && c.has_blocking_capture(stream->context);
  if (c.harmless) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream->capture != 0)
    *status = c.s.captures.at(stream->capture).invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult begin_capture(Call& c, CUstream handle, CUstreamCaptureMode mode) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  CUresult error = CUDA_SUCCESS;
  Stream* stream = c.stream(handle, error);
  if (stream == nullptr) return error;
  if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != 0) return CUDA_ERROR_ILLEGAL_STATE;
  begin(c, *stream, mode);
  return CUDA_SUCCESS;
}

CUresult end_capture(Call& c, CUstream handle, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult error = CUDA_SUCCESS;
  Stream* stream = c.stream(handle, error);
  if (stream == nullptr) return error;
  if (stream->capture == 0) return CUDA_ERROR_ILLEGAL_STATE;
  const Capture capture = c.s.captures.at(stream->capture);
  if (capture.origin != stream->order) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.thread != c.thread.index)
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  const bool forked = leave(c, stream->capture, stream->order);
  if (!capture.invalid && !forked) {
    c.s.graphs.at(capture.graph).captured = false;
    answer(graph, capture.graph);
    return CUDA_SUCCESS;
  }
  c.destroy_graph(capture.graph);
  *graph = nullptr;
  return capture.invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                         : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

CUresult exchange_capture_mode(Call& c, CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, c.thread.capture_mode);
  return CUDA_SUCCESS;
}

CUresult event_create(Call& c, CUevent* event, unsigned) {
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!c.program && c.model.faults.no_event) return CUDA_ERROR_OUT_OF_MEMORY;
  auto& mine = c.program ? c.s.events : c.s.shim_events;
  const uint64_t handle = lowest_free(mine, c.program ? kEventBase : kShimEventBase);
  mine[handle] = {c.context(), 0, 0, 0};
  answer(event, handle);
  return CUDA_SUCCESS;
}

CUresult event_destroy(Call& c, CUevent event) {
  if (c.event(event) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  (c.program ? c.s.events : c.s.shim_events).erase(number(event));
  return CUDA_SUCCESS;
}

CUresult event_record(Call& c, CUevent event, CUstream stream) {
  return record(c, event, stream);
}

CUresult event_record_flags(Call& c, CUevent event, CUstream stream, unsigned flags) {
  return flags > 1 ? CUDA_ERROR_INVALID_VALUE : record(c, event, stream);
}

CUresult event_query(Call& c, CUevent handle) {
  const Event* event = c.event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture != 0) return CUDA_ERROR_CAPTURED_EVENT;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  c.model.drain();
  return c.s.pending.count(event->operation) != 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult event_synchronize(Call& c, CUevent handle) {
  const Event* event = c.event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture != 0) return CUDA_ERROR_CAPTURED_EVENT;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  c.wait_for(event->operation);
  return CUDA_SUCCESS;
}

}  // namespace implementation
}  // namespace gacer::property
