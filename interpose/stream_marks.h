// SPDX-License-Identifier: Apache-2.0
// Marks around the program's own synchronisation: work that a call is about to wait for, ask about
// or publish must have its mark behind it. Nothing is marked on a capturing stream. Thread-safe.
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
void mark_context_tails(Attachment& attachment, CUcontext context);
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

template <typename Call>
CUresult with_context_marked(CUcontext context, const Call& call) {
  const HookScope scope;
  Attachment* attachment = marking_attachment(scope);
  if (attachment != nullptr && attachment->streams.used() != 0)
    mark_context_tails(*attachment, context);
  const CUresult result = call();
  if (attachment != nullptr) collect_completions(*attachment);
  return result;
}

}  // namespace gacer::interpose
