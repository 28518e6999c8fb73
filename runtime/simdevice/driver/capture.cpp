// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/capture.h"

#include <algorithm>
#include <atomic>
#include <list>

#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/event.h"
#include "runtime/simdevice/driver/graph_handles.h"

namespace gacer::simdriver {
namespace {

std::atomic<uint32_t> active_captures{0};

// Guarded by graph_lock().
std::list<std::shared_ptr<CaptureSession>>& sessions() {
  static auto& all = *new std::list<std::shared_ptr<CaptureSession>>;
  return all;
}

CUstreamCaptureMode& thread_mode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

uint64_t next_capture_id() {
  static uint64_t id = 0;
  return ++id;
}

void add_stream(CaptureSession& session, const std::shared_ptr<Stream>& stream) {
  session.streams.push_back(stream);
}

void close_session(const std::shared_ptr<CaptureSession>& session) {
  for (const auto& weak : session->streams) {
    const auto stream = weak.lock();
    if (stream == nullptr || stream->capture != session) continue;
    stream->capture.reset();
    stream->capture_tail.clear();
  }
  session->closed = true;
  sessions().remove(session);
  active_captures.fetch_sub(1, std::memory_order_relaxed);  // graph_lock orders what belongs to it
}

// Work in the legacy stream would wait for every blocking stream of its context.
CUresult refuse_implicit(const Stream& stream) {
  if (!stream.legacy) return CUDA_SUCCESS;
  for (const auto& session : sessions()) {
    if (session->context_id != stream.context_id) continue;
    for (const auto& weak : session->streams) {
      const auto capturing = weak.lock();
      if (capturing == nullptr || !capturing->blocking()) continue;
      session->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  return CUDA_SUCCESS;
}

void append_unique(std::vector<GraphNode*>& to, const std::vector<GraphNode*>& from) {
  for (GraphNode* node : from)
    if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
}

// Everything captured must lead to what the origin stream ends with.
bool all_joined(const CaptureSession& session, const std::vector<GraphNode*>& tail) {
  return std::all_of(session.captured.begin(), session.captured.end(), [&](const GraphNode* node) {
    return !node->dependents.empty() || std::find(tail.begin(), tail.end(), node) != tail.end();
  });
}

bool forbids(const CaptureSession& session, CUstreamCaptureMode caller) {
  if (session.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (session.thread == std::this_thread::get_id()) return true;
  return caller == CU_STREAM_CAPTURE_MODE_GLOBAL && session.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

}  // namespace

bool captures_active() {
  return active_captures.load(std::memory_order_relaxed) != 0;
}

bool is_capturing(const Stream& stream) {
  const std::lock_guard lock(graph_lock());
  return stream.capture != nullptr;
}

CUresult begin_capture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode,
                       std::shared_ptr<Graph> graph, const std::vector<GraphNode*>& dependencies) {
  const std::lock_guard lock(graph_lock());
  if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto session = std::make_shared<CaptureSession>();
  session->id = next_capture_id();
  session->mode = mode;
  session->thread = std::this_thread::get_id();
  session->context_id = stream->context_id;
  session->own_graph = graph == nullptr;
  session->graph = graph != nullptr ? std::move(graph) : std::make_shared<Graph>();
  session->origin = stream.get();
  add_stream(*session, stream);
  stream->capture = session;
  stream->capture_tail = dependencies;
  if (session->own_graph) publish(session->graph);
  sessions().push_back(std::move(session));
  active_captures.fetch_add(1, std::memory_order_relaxed);  // graph_lock orders what belongs to it
  return CUDA_SUCCESS;
}

CUresult end_capture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>& out) {
  const std::lock_guard lock(graph_lock());
  const std::shared_ptr<CaptureSession> session = stream->capture;
  if (session == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (session->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (session->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      session->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult status = session->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  if (status == CUDA_SUCCESS && !all_joined(*session, stream->capture_tail))
    status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  close_session(session);
  if (status == CUDA_SUCCESS) {
    out = session->graph;
  } else if (session->own_graph) {
    withdraw(*session->graph);
    graph_handles().graphs.remove(handle_of(session->graph.get()));
  }
  return status;
}

CUresult capture_work(const std::shared_ptr<Stream>& stream, const Work& work, bool& captured) {
  const std::lock_guard lock(graph_lock());
  if (stream->capture == nullptr) return refuse_implicit(*stream);
  CaptureSession& session = *stream->capture;
  if (session.invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  GraphNode* node = session.graph->add(work, stream->capture_tail);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  publish_node(session.graph->nodes.back());
  session.captured.push_back(node);
  stream->capture_tail = {node};
  captured = true;
  return CUDA_SUCCESS;
}

CUresult capture_record(const std::shared_ptr<Stream>& stream, Event& event, bool& captured) {
  const std::lock_guard lock(graph_lock());
  event.captured.store(stream->capture != nullptr,
                       std::memory_order_relaxed);  // graph_lock orders the rest
  event.capture = stream->capture;
  event.captured_nodes = stream->capture_tail;
  if (stream->capture == nullptr) return refuse_implicit(*stream);
  if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  captured = true;
  return CUDA_SUCCESS;
}

CUresult capture_wait(const std::shared_ptr<Stream>& stream, const Event& event, bool& captured) {
  const std::lock_guard lock(graph_lock());
  if (event.capture == nullptr) {
    if (stream->capture == nullptr) return refuse_implicit(*stream);
    if (!event.recorded) {
      captured = true;
      return CUDA_SUCCESS;
    }
    stream->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (event.capture->closed) return CUDA_ERROR_CAPTURED_EVENT;
  if (event.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->legacy) {
    event.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (stream->capture == nullptr) {
    stream->capture = event.capture;
    stream->capture_tail.clear();
    add_stream(*event.capture, stream);
  }
  if (stream->capture != event.capture) {
    stream->capture->invalidated = event.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  append_unique(stream->capture_tail, event.captured_nodes);
  captured = true;
  return CUDA_SUCCESS;
}

CUresult refuse_during_capture() {
  if (!captures_active() || thread_mode() == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_lock());
  CUresult status = CUDA_SUCCESS;
  for (const auto& session : sessions()) {
    if (!forbids(*session, thread_mode())) continue;
    session->invalidated = true;
    status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return status;
}

CUresult refuse_on_capturing(const Stream& stream) {
  if (!captures_active()) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_lock());
  if (stream.capture == nullptr) return refuse_implicit(stream);
  stream.capture->invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult refuse_captured_event(const Event& event) {
  if (!event.captured.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_lock());
  if (event.capture == nullptr) return CUDA_SUCCESS;
  event.capture->invalidated = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult refuse_context_capture(const Context& context) {
  if (!captures_active()) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_lock());
  CUresult status = CUDA_SUCCESS;
  for (const auto& session : sessions()) {
    const bool here =
        std::any_of(session->streams.begin(), session->streams.end(), [&](const auto& weak) {
          const auto stream = weak.lock();
          const auto owner = stream == nullptr ? nullptr : stream->context.lock();
          return owner != nullptr && (owner.get() == &context || &owner->root() == &context);
        });
    if (!here) continue;
    session->invalidated = true;
    status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return status;
}

void clear_captured(Event& event) {
  if (!event.captured.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(graph_lock());
  event.captured.store(false, std::memory_order_relaxed);  // graph_lock orders the rest
  event.capture.reset();
  event.captured_nodes.clear();
}

void forget_capture(Stream& stream) {
  if (!captures_active()) return;
  const std::lock_guard lock(graph_lock());
  if (stream.capture == nullptr) return;
  const std::shared_ptr<CaptureSession> session = stream.capture;
  session->invalidated = true;
  if (session->origin == &stream) close_session(session);
}

void invalidate_captures_of(uint32_t context_id) {
  if (!captures_active()) return;
  const std::lock_guard lock(graph_lock());
  const auto all = sessions();
  for (const auto& session : all) {
    if (session->context_id != context_id) continue;
    session->invalidated = true;
    close_session(session);
  }
}

CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode(), mode);
}

}  // namespace gacer::simdriver
