// SPDX-License-Identifier: Apache-2.0
#include "interpose/capture_tracker.h"

#include "interpose/driver.h"

namespace gacer::interpose {

void CaptureTracker::begun(StreamRef stream) {
  const uint64_t key = stream_key(stream);
  const SpinGuard guard(lock_);
  streams_.set(key, 1);
  count_.store(streams_.size(), std::memory_order_relaxed);
}

void CaptureTracker::ended(StreamRef stream) {
  forget(stream_key(stream));
}

void CaptureTracker::forget(uint64_t key) {
  const SpinGuard guard(lock_);
  uint64_t value = 0;
  streams_.take(key, value);
  count_.store(streams_.size(), std::memory_order_relaxed);
}

bool CaptureTracker::is_capturing(StreamRef stream) {
  if (!any()) return false;
  const uint64_t key = stream_key(stream);
  {
    const SpinGuard guard(lock_);
    if (streams_.find(key) != nullptr) return true;
  }
  // The legacy default stream cannot be captured, and asking about it during a capture is an error.
  const bool legacy =
      stream.handle == CU_STREAM_LEGACY || (stream.handle == nullptr && !stream.null_is_per_thread);
  if (legacy) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  auto* ask =
      stream.null_is_per_thread ? driver().cuStreamIsCapturing_ptsz : driver().cuStreamIsCapturing;
  return ask(stream.handle, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void CaptureTracker::reset() {
  lock_.unlock();
  streams_.clear();
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace gacer::interpose
