// SPDX-License-Identifier: Apache-2.0
// Entry points: begin and end of stream captures, and joining one.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/stream_marks.h"

namespace gacer::interpose {
namespace {

// What was launched before gets its mark now: during the capture there will be none.
// The legacy default stream cannot be captured; a mark would only order its neighbours.
void mark_before_capture(const HookScope& scope, StreamRef stream) {
  if (is_legacy_stream(stream)) return;
  Attachment* attachment = marking_attachment(scope);
  if (attachment != nullptr && attachment->streams.used() != 0)
    mark_stream_tail(*attachment, stream);
}

template <typename Call>
CUresult begin_capture(StreamRef stream, const Call& call) {
  const HookScope scope;
  if (!scope.outermost()) return call();
  CaptureTracker& captures = shim().captures;
  mark_before_capture(scope, stream);
  captures.beginning(stream);
  let_marks_finish(stream);
  const CUresult result = call();
  captures.begin_done(stream, result);
  return result;
}

template <typename Call>
CUresult end_capture(StreamRef stream, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost()) shim().captures.ended(stream, result);
  return result;
}

StreamState* state_of(Attachment* attachment, StreamRef stream) {
  const int slot =
      attachment == nullptr ? StreamTable::kNone : attachment->streams.find(stream_key(stream));
  return slot == StreamTable::kNone ? nullptr : &attachment->streams.state(slot);
}

// A wait for an event of a capture makes the stream join it. Other threads' marks keep off
// meanwhile: theirs is a try_lock.
template <typename Call>
CUresult wait_event(StreamRef stream, const Call& call) {
  const HookScope scope;
  if (!shim().captures.any()) return call();
  StreamState* state = state_of(marking_attachment(scope), stream);
  if (state == nullptr) return call();
  mark_before_capture(scope, stream);
  const SpinGuard guard(state->mark_lock);
  return call();
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

#define GACER_WAIT_EVENT(symbol, per_thread)                                     \
  CUresult gacer_hook_##symbol(CUstream stream, CUevent event, unsigned flags) { \
    return wait_event({stream, per_thread},                                      \
                      [&] { return driver().symbol(stream, event, flags); });    \
  }
GACER_WAIT_EVENT(cuStreamWaitEvent, false)
GACER_WAIT_EVENT(cuStreamWaitEvent_ptsz, true)

}  // extern "C"
