// SPDX-License-Identifier: Apache-2.0
// Streams: what a CUstream stands for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/server_link.h"

namespace gacer::simdriver {

class Context;
struct CaptureSession;
struct GraphNode;

struct Stream {
  std::shared_ptr<StreamCounter> counter;
  std::weak_ptr<Context> context;
  uint32_t context_id = 0;
  unsigned flags = CU_STREAM_DEFAULT;
  int priority = 0;
  bool legacy = false;
  uint64_t unique_id = 0;

  // Guarded by graph_lock() (graph.h).
  std::shared_ptr<CaptureSession> capture;
  std::vector<GraphNode*> capture_tail;

  // Further streams where branches of graphs run that are launched into this one.
  struct Lane {
    uint32_t context_id = 0;
    std::shared_ptr<Stream> stream;
  };
  std::mutex lanes_mutex;  // held while a graph is issued: one after the other
  std::vector<Lane> lanes;
  std::shared_ptr<Stream> body_lane;  // of conditional nodes in this one

  std::mutex attributes_mutex;
  std::map<CUstreamAttrID, CUstreamAttrValue> attributes;  // that were set

  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
  uint64_t last_seq() const {
    return counter->last_seq.load(std::memory_order_acquire);  // pairs with send_op
  }
};

// Stream ids of the protocol. An id goes to a new stream only after all work of its last owner is
// done. Thread-safe.
class StreamIds {
 public:
  // nullptr when all ids are in use.
  std::shared_ptr<StreamCounter> take(ServerLink& link);
  void retire(std::shared_ptr<StreamCounter> counter);

 private:
  std::mutex mutex_;
  uint32_t next_unused_ = 1;
  std::vector<std::shared_ptr<StreamCounter>> retired_;
};

// Gives `stream` the id of its context's legacy stream: 0 for context 0, else one of its own.
CUresult open_legacy_stream(Stream& stream);

// Creates a stream in `context` and tells the server.
CUresult open_stream(const std::shared_ptr<Context>& context, unsigned flags, int priority,
                     std::shared_ptr<Stream>& out);
// The same, behind what the context was told to wait for (cuCtxWaitEvent).
CUresult make_stream(const std::shared_ptr<Context>& context, unsigned flags, int priority,
                     std::shared_ptr<Stream>& out);
// Gives the id back; queued work still runs.
void end_stream(Stream& stream);

// The stream behind a handle: NULL and CU_STREAM_LEGACY the legacy stream of the current context,
// CU_STREAM_PER_THREAD this thread's own. Errors: not initialised, no context,
// CUDA_ERROR_INVALID_HANDLE.
CUresult resolve_stream(CUstream handle, std::shared_ptr<Stream>& out);

// Waits until all that was submitted to `stream` so far is done.
CUresult synchronize_stream(const Stream& stream);

}  // namespace gacer::simdriver
