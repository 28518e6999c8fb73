// SPDX-License-Identifier: Apache-2.0
// Stream capture: which streams record into which graph, and which calls are refused meanwhile.
// Rules: CUDA Driver API, "Stream Management" (cuStreamBeginCapture,
// cuThreadExchangeStreamCaptureMode) and the CUDA Programming Guide, "Creating a Graph Using Stream
// Capture".
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/graph.h"
#include "runtime/simdevice/driver/stream.h"

namespace gacer::simdriver {

struct Event;

struct CaptureSession {
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  uint32_t context_id = 0;
  bool invalidated = false;
  bool closed = false;
  bool own_graph = true;  // false: cuStreamBeginCaptureToGraph
  std::shared_ptr<Graph> graph;
  const Stream* origin = nullptr;              // only compared
  std::vector<std::weak_ptr<Stream>> streams;  // origin and those that joined
  std::vector<GraphNode*> captured;
};

// False when certainly no stream of the process captures: the one check on the common path.
bool captures_active();
bool is_capturing(const Stream& stream);

CUresult begin_capture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode,
                       std::shared_ptr<Graph> graph, const std::vector<GraphNode*>& dependencies);
CUresult end_capture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>& out);

// Each sets `captured` when the call became part of a graph.
CUresult capture_work(const std::shared_ptr<Stream>& stream, const Work& work, bool& captured);
CUresult capture_record(const std::shared_ptr<Stream>& stream, Event& event, bool& captured);
// Also for events recorded in a capture that has ended (CUDA_ERROR_CAPTURED_EVENT until they are
// recorded again).
CUresult capture_wait(const std::shared_ptr<Stream>& stream, const Event& event, bool& captured);

// For calls that may not be made while this thread (or, in global mode, any) captures; invalidates
// the capture.
CUresult refuse_during_capture();
// For calls that may not be made on a capturing stream.
CUresult refuse_on_capturing(const Stream& stream);
// For queries of an event that was last recorded in a capture.
CUresult refuse_captured_event(const Event& event);

// For calls about a whole context of which a stream is capturing; invalidates such captures.
CUresult refuse_context_capture(const Context& context);
// The event is recorded outside of captures.
void clear_captured(Event& event);

// A stream or a context goes away.
void forget_capture(Stream& stream);
void invalidate_captures_of(uint32_t context_id);

CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode);

}  // namespace gacer::simdriver
