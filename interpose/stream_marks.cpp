// SPDX-License-Identifier: Apache-2.0
#include "interpose/stream_marks.h"

#include <bit>

namespace gacer::interpose {
namespace {

// A default stream is named by the thread and context that use it, so a mark from elsewhere would
// go to another stream.
bool is_ours_to_mark(const Attachment& attachment, const StreamState& state, int slot) {
  return !is_default_stream(state.stream.handle) ||
         attachment.streams.find(stream_key(state.stream)) == slot;
}

}  // namespace

void mark_stream_tail(Attachment& attachment, StreamRef stream) {
  if (!shim().captures.may_submit(stream)) return;
  const uint64_t key = stream_key(stream);
  // Once the stream itself writes, a mark is a stream-ordered call and nothing else.
  if (attachment.way.load(std::memory_order_relaxed) == CompletionWay::kStreamWrite)
    return mark_tail(attachment, key);
  const RelaxedCapture relaxed;
  if (relaxed.allows()) mark_tail(attachment, key);
}

void mark_context_tails(Attachment& attachment, CUcontext context) {
  for (uint64_t left = attachment.streams.used(); left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    const StreamState& state = attachment.streams.state(slot);
    if (context != nullptr && state.context != context) continue;
    if (is_ours_to_mark(attachment, state, slot)) mark_stream_tail(attachment, state.stream);
  }
}

void collect_completions(Attachment& attachment) {
  if (!events_are_used(attachment)) return;
  const RelaxedCapture relaxed;
  if (relaxed.allows()) poll_events(attachment);
}

void let_marks_finish(StreamRef stream) {
  Attachment* attachment = shim().session.current();
  if (attachment == nullptr) return;
  const int slot = attachment->streams.find(stream_key(stream));
  if (slot == StreamTable::kNone) return;
  const SpinGuard guard(attachment->streams.state(slot).mark_lock);
}

}  // namespace gacer::interpose
