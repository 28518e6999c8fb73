// SPDX-License-Identifier: Apache-2.0
#include "interpose/capture_tracker.h"

#include "interpose/driver.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint64_t kBeginning = 1;

uint64_t current_context() {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return reinterpret_cast<uint64_t>(context);
}

// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for a legacy stream beside a blocking capture, which is not
// harmed by the question.
CUresult ask(StreamRef stream, CUstreamCaptureStatus& status) {
  auto* question =
      stream.null_is_per_thread ? driver().cuStreamIsCapturing_ptsz : driver().cuStreamIsCapturing;
  return question(stream.handle, &status);
}

bool driver_says_capturing(StreamRef stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask(stream, status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

// Caller holds lock_.
void CaptureTracker::set(uint64_t key, uint64_t value) {
  streams_.set(key, value);
  count_.store(streams_.size(), kRelaxed);
}

void CaptureTracker::beginning(StreamRef stream) {
  const uint64_t key = stream_key(stream);
  const uint64_t context = current_context();
  const SpinGuard guard(lock_);
  begins_.fetch_add(1, kRelaxed);
  set(key, context | kBeginning);
}

void CaptureTracker::begin_done(StreamRef stream, CUresult result) {
  // A begin also fails on a stream that is capturing already.
  if (result != CUDA_SUCCESS && !driver_says_capturing(stream)) return forget(stream_key(stream));
  const uint64_t key = stream_key(stream);
  const SpinGuard guard(lock_);
  if (const uint64_t* value = streams_.find(key)) set(key, *value & ~kBeginning);
}

void CaptureTracker::ended(StreamRef stream, CUresult result) {
  if (result == CUDA_SUCCESS || !driver_says_capturing(stream)) forget(stream_key(stream));
}

void CaptureTracker::forget(uint64_t key) {
  const SpinGuard guard(lock_);
  uint64_t value = 0;
  streams_.take(key, value);
  count_.store(streams_.size(), kRelaxed);
}

void CaptureTracker::forget_context(CUcontext context) {
  if (!any()) return;
  const SpinGuard guard(lock_);
  const auto gone = reinterpret_cast<uint64_t>(context);
  bool all_of_one = true;
  uint64_t only = 0;
  streams_.for_each([&](uint64_t, uint64_t value) {
    if (only == 0) only = value & ~kBeginning;
    all_of_one = all_of_one && (value & ~kBeginning) == only;
  });
  // Captures of several contexts and one of these is gone, we know not which: entries that stay
  // too long only cost questions, one that is missing would let us into a capture.
  if (gone == 0 && !all_of_one) return;
  const uint64_t target = gone == 0 ? only : gone;
  streams_.erase_if([&](uint64_t, uint64_t value) { return (value & ~kBeginning) == target; });
  count_.store(streams_.size(), kRelaxed);
}

bool CaptureTracker::has_entry(uint64_t key, bool& is_beginning) {
  const SpinGuard guard(lock_);
  const uint64_t* value = streams_.find(key);
  is_beginning = value != nullptr && (*value & kBeginning) != 0;
  return value != nullptr;
}

void CaptureTracker::forget_if_unchanged(uint64_t key, uint64_t begins_seen) {
  const SpinGuard guard(lock_);
  uint64_t value = 0;
  if (begins_.load(kRelaxed) == begins_seen) streams_.take(key, value);
  count_.store(streams_.size(), kRelaxed);
}

bool CaptureTracker::is_capturing(StreamRef stream) {
  if (!any() || is_legacy_stream(stream)) return false;
  const uint64_t key = stream_key(stream);
  const uint64_t begins_seen = begins_.load(kRelaxed);
  bool is_beginning = false;
  const bool known = has_entry(key, is_beginning);
  if (is_beginning || driver_says_capturing(stream)) return true;
  if (known) forget_if_unchanged(key, begins_seen);
  return false;
}

bool CaptureTracker::may_submit(StreamRef stream) {
  if (!any()) return true;
  if (!is_legacy_stream(stream)) return !is_capturing(stream);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask(stream, status) == CUDA_SUCCESS;
}

void CaptureTracker::reset() {
  lock_.unlock();
  streams_.clear();
  count_.store(0, kRelaxed);
}

RelaxedCapture::RelaxedCapture()
    : exchanged_(driver().cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS),
      allows_(exchanged_ || !shim().captures.any()) {}

RelaxedCapture::~RelaxedCapture() {
  if (exchanged_) driver().cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace gacer::interpose
