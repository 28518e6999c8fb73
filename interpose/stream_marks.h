// SPDX-License-Identifier: Apache-2.0
// Marks around the program's own synchronisation: work that a call is about to wait for or to
// publish must have its mark behind it, or is known to be done by the call's answer. Nothing is
// marked on a capturing stream. Thread-safe.
#pragma once

#include "interpose/attachment.h"
#include "interpose/completion.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {

// The attachment, if there is one and this is the program's own call.
inline Attachment* marking_attachment(const HookScope& scope) {
  return scope.outermost() ? shim().session.current() : nullptr;
}

void mark_stream_tail(Attachment& attachment, StreamRef stream);
// Of all streams launched on in this context; NULL: in any.
void mark_context_tails(Attachment& attachment, CUcontext context, bool legacy_too);
// Completions that events have brought meanwhile.
void collect_completions(Attachment& attachment);

// Returns when no other thread is in the middle of marking this stream. For the program's begin of
// a capture, which such a mark must not get into.
void let_marks_finish(StreamRef stream);

template <typename Call>
CUresult with_stream_marked(StreamRef stream, const Call& call) {
  const HookScope scope;
  Attachment* attachment = marking_attachment(scope);
  if (attachment != nullptr && attachment->streams.used() != 0)
    mark_stream_tail(*attachment, stream);
  const CUresult result = call();
  if (attachment != nullptr) collect_completions(*attachment);
  return result;
}

// Around a call whose success says that this stream has nothing left to do. A mark before it would
// make the answer wait for work that the stream itself need not wait for: a mark on a blocking
// stream waits for the legacy default stream, one on that for all blocking streams.
template <typename Call>
CUresult with_stream_finished(StreamRef stream, const Call& call) {
  const HookScope scope;
  Attachment* attachment = marking_attachment(scope);
  const bool any = attachment != nullptr && attachment->streams.used() != 0;
  const int slot = any ? attachment->streams.find(stream_key(stream)) : StreamTable::kNone;
  const uint64_t before_ns = any ? submitted_ns(*attachment, slot) : 0;
  const CUresult result = call();
  if (result == CUDA_SUCCESS && before_ns != 0) report_finished(*attachment, slot, before_ns);
  if (attachment != nullptr) collect_completions(*attachment);
  return result;
}

// `legacy_too`: the call waits for the legacy default stream, so that a mark there orders nothing
// that is not ordered anyway.
template <typename Call>
CUresult with_context_marked(CUcontext context, bool legacy_too, const Call& call) {
  const HookScope scope;
  Attachment* attachment = marking_attachment(scope);
  if (attachment != nullptr && attachment->streams.used() != 0)
    mark_context_tails(*attachment, context, legacy_too);
  const CUresult result = call();
  if (attachment != nullptr) collect_completions(*attachment);
  return result;
}

}  // namespace gacer::interpose
