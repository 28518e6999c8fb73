// SPDX-License-Identifier: Apache-2.0
#include "interpose/stream_marks.h"

#include <bit>

namespace gacer::interpose {
namespace {

// The slot's stream, if a mark from this thread reaches it: a default stream is named by the thread
// and context that use it, so that a mark from elsewhere would go to another stream. A thread that
// is marking the slot already makes ours superfluous.
bool markable_stream(Attachment& attachment, int slot, StreamRef& stream) {
  StreamState& state = attachment.streams.state(slot);
  if (!state.mark_lock.try_lock()) return false;
  stream = state.stream;
  state.mark_lock.unlock();
  return !is_default_stream(stream.handle) || attachment.streams.find(stream_key(stream)) == slot;
}

}  // namespace

void mark_stream_tail(Attachment& attachment, StreamRef stream) {
  mark_tail(attachment, stream_key(stream));
}

void mark_context_tails(Attachment& attachment, CUcontext context, bool legacy_too) {
  for (uint64_t left = attachment.streams.used(); left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    if (context != nullptr && attachment.streams.state(slot).context != context) continue;
    StreamRef stream{};
    if (!markable_stream(attachment, slot, stream)) continue;
    if (legacy_too || !is_legacy_stream(stream)) mark_stream_tail(attachment, stream);
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
