// SPDX-License-Identifier: Apache-2.0
// Marks: after some launches the stream itself writes the cost submitted so far into its slot.
// Where the driver refuses to register the segment or to write, an event is recorded instead and
// polled on later calls. No call here synchronises or touches a capture: capturing streams are left
// alone, and what captures of other threads forbid is done in the relaxed mode. Thread-safe.
#pragma once

#include "interpose/attachment.h"

namespace gacer::interpose {

// Brings the newest mark of this slot up to what has been submitted. A thread that is already
// marking the same stream makes this a no-op. `stream`: on which the newest launch went; only the
// shared slot needs it.
void mark_stream(Attachment& attachment, int slot, StreamRef stream);

// Marks what is unmarked: on one stream, on all streams of a context (NULL: of all contexts).
void mark_tail(Attachment& attachment, uint64_t key);
void mark_all_tails(Attachment& attachment, CUcontext context);

// True: poll_events() has something to do.
inline bool events_are_used(const Attachment& attachment) {
  return attachment.way.load(std::memory_order_relaxed) == CompletionWay::kEvents ||
         attachment.streams.sharing();
}
// What has been submitted to this stream so far; to be asked before a call that tells whether it is
// done. 0: nothing that is counted.
uint64_t submitted_ns(const Attachment& attachment, int slot);
// The driver has just said that all of that is done: no mark is needed for it.
void report_finished(Attachment& attachment, int slot, uint64_t submitted_ns);

// Moves completed_cost_ns forward for events that have happened. Nothing to do with stream writes.
void poll_events(Attachment& attachment);

// Before a stream is destroyed or with its context: marks or settles its counters and frees its
// slot.
void retire_stream(Attachment& attachment, uint64_t key);
// After contexts have gone: their streams' work will never be reported; NULL: all contexts.
void abandon_streams(Attachment& attachment, CUcontext context);

}  // namespace gacer::interpose
