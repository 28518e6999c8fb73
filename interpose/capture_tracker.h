// SPDX-License-Identifier: Apache-2.0
// Stream captures, and which driver calls of our own they allow.
//
// Launches on a capturing stream are not work yet: not held, charged, recorded or marked. All other
// streams go on as ever. The rules, from the driver API's cuThreadExchangeStreamCaptureMode and
// cuStreamIsCapturing:
//
//   our call                                        allowed
//   stream-ordered: cuStreamWriteValue64,           on streams that do not capture, whoever else
//   cuEventRecord                                   captures in whatever mode: ask may_submit();
//                                                   not on a legacy stream beside a blocking
//                                                   capture
//   not stream-ordered: cuEventQuery,               "potentially unsafe" in global mode, also from
//   cuEventCreate, cuMemHostRegister,               other threads: only within a RelaxedCapture
//   first look at a kernel
//   synchronising                                   never
//
// A stream is known to capture from the program's calls; one that joined by cuStreamWaitEvent only
// to the driver, which therefore is asked, but only while any() capture is under way. An entry here
// only makes us ask: one that is out of date (its thread ended within the capture) costs a question
// a launch and goes at the first answer; it never leaves a stream unregulated. Thread-safe; one
// load while nothing is captured.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/flat_map.h"
#include "interpose/spin_lock.h"
#include "interpose/stream_table.h"

namespace gacer::interpose {

class CaptureTracker {
 public:
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  // Before the driver's begin, so that no other thread submits in between; then begin_done() with
  // its result.
  void beginning(StreamRef stream);
  void begin_done(StreamRef stream, CUresult result);
  // After the driver's end, successful or not: forgets the stream unless the driver says that its
  // capture goes on (ended by a wrong thread, or on a stream that had only joined).
  void ended(StreamRef stream, CUresult result);
  // The stream is gone, with its capture if it had one.
  void forget(uint64_t key);
  // So is a context. NULL: one whose handle is not known.
  void forget_context(CUcontext context);

  // Also true for streams that joined a capture, and for captures that have been invalidated.
  bool is_capturing(StreamRef stream);
  // May we put a mark, an event or a memory operation on this stream now?
  bool may_submit(StreamRef stream);

  // In a fork child, before any other thread exists.
  void reset();

 private:
  bool has_entry(uint64_t key, bool& is_beginning);
  void set(uint64_t key, uint64_t value);
  void forget_if_unchanged(uint64_t key, uint64_t begins_seen);

  SpinLock lock_;
  FlatMap streams_;  // key -> context, lowest bit set until the driver has answered
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> begins_{0};
};

// Within its life this thread may make calls that a capture of any thread forbids, except on what
// is itself captured. Costs two driver calls that change a thread's word.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  // False (a driver before CUDA 10.1) while something is captured: put the call off.
  bool allows() const { return allows_; }

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool exchanged_ = false;
  bool allows_ = false;
};

}  // namespace gacer::interpose
