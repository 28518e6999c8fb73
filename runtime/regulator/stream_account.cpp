// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/stream_account.h"

#include <algorithm>
#include <utility>

namespace gacer::regulator {

void StreamAccount::launched(uint64_t submitted_ns) {
  if (submitted_ns <= submitted_ns_) return;
  submitted_ns_ = submitted_ns;
  moved_ = true;
  stale_ = false;
}

StreamAccount::Change StreamAccount::progressed(uint64_t submitted_ns, uint64_t completed_ns,
                                                bool marked, uint64_t now_ns) {
  const bool restarted = submitted_ns < submitted_ns_ && completed_ns < completed_ns_;
  const uint64_t floor_ns = restarted ? 0 : completed_ns_;
  const uint64_t done_ns = marked ? std::max(completed_ns, floor_ns) : submitted_ns;
  // The two words are not read at one instant, so more completed than submitted is no proof of
  // forgery.
  const uint64_t completed = std::min(done_ns, submitted_ns);
  const bool moved = submitted_ns != submitted_ns_ || completed != completed_ns_;
  submitted_ns_ = submitted_ns;
  completed_ns_ = completed;
  if (moved || moved_ || moved_at_ns_ == 0) moved_at_ns_ = now_ns;
  if (moved) moved_ = true, stale_ = false;
  if (restarted) return Change::kRestarted;
  return moved ? Change::kMoved : Change::kNone;
}

bool StreamAccount::check_stale(uint64_t now_ns, uint64_t stale_after_ns) {
  if (stale_ || moved_ || in_flight_ns() == 0) return false;
  stale_ = now_ns > moved_at_ns_ && now_ns - moved_at_ns_ > stale_after_ns;
  return stale_;
}

uint64_t StreamAccount::in_flight_ns() const {
  return stale_ ? 0 : std::min(submitted_ns_ - completed_ns_, kMaxInFlightNs);
}

bool StreamAccount::take_moved() {
  return std::exchange(moved_, false);
}

}  // namespace gacer::regulator
