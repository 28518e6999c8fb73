// SPDX-License-Identifier: Apache-2.0
// Events: what a CUevent stands for.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/server_link.h"

namespace gacer::simdriver {

struct CaptureSession;
struct GraphNode;

struct Event {
  uint32_t id = 0;  // of the protocol
  uint32_t context_id = 0;
  // Of an event that other processes may use too; 0: of this one only. The server knows the newest
  // record then, and the fields below mean nothing.
  uint32_t shared_id = 0;
  unsigned flags = 0;
  std::mutex mutex;         // held while a record is sent: generations reach the server in order
  uint64_t generation = 0;  // of the newest record, or of the last owner of the id
  bool recorded = false;
  uint32_t stream = 0;  // where the newest record is, and its place there
  uint64_t seq = 0;

  // Set when last recorded in a capturing stream; changed under graph_lock(), read without it to
  // skip the lock.
  std::atomic<bool> captured{false};
  // Guarded by graph_lock().
  std::shared_ptr<CaptureSession> capture;
  std::vector<GraphNode*> captured_nodes;

  bool timing() const { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
};

// The newest record of an event. It is done when the event says so and the stream has passed it:
// the server writes the event first, and a stream must be idle once its last event is over.
struct EventRecordPoint {
  bool recorded = false;
  uint32_t shared_id = 0;
  uint32_t event = 0;
  uint64_t generation = 0;
  uint32_t stream = 0;
  uint64_t seq = 0;

  bool done(const ServerLink& link) const;
  CUresult wait(ServerLink& link) const;
};
EventRecordPoint newest_record(Event& event);

// Event ids of the protocol; a slot's generations go on counting when it is reused. Thread-safe.
class EventIds {
 public:
  // False when all ids are in use. Sets id and the generation before the first.
  bool take(ServerLink& link, uint32_t& id, uint64_t& base_generation);
  void retire(uint32_t id, uint64_t last_generation);

 private:
  struct Retired {
    uint32_t id;
    uint64_t generation;
  };
  std::mutex mutex_;
  uint32_t next_unused_ = 0;
  std::vector<Retired> retired_;
};

// Gives the event an identity that other processes can be told.
CUresult make_shared_event(Event& event);
// Gives its id back.
void end_event(Event& event);

CUresult find_event(CUevent handle, std::shared_ptr<Event>& out);

}  // namespace gacer::simdriver
