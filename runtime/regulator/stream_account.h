// SPDX-License-Identifier: Apache-2.0
// One stream slot's counters as the regulator believes them. Whatever the tenant writes,
// in_flight_ns() stays within [0, kMaxInFlightNs] and counters that stand still are taken as idle
// after a while.
#pragma once

#include <cstdint>

namespace gacer::regulator {

inline constexpr uint64_t kMaxInFlightNs = 10'000'000'000'000;  // keeps sums over all slots exact

class StreamAccount {
 public:
  enum class Change { kNone, kMoved, kRestarted };

  // A launch record said so; the next progressed() has the last word.
  void launched(uint64_t submitted_ns);

  // Takes over the tenant's counters. `marked`: completion marks were asked for; without them the
  // completed counter says nothing and all that was submitted counts as done. kRestarted: the slot
  // has a new stream.
  Change progressed(uint64_t submitted_ns, uint64_t completed_ns, bool marked, uint64_t now_ns);

  // Returns true when the stream turns stale with this call.
  bool check_stale(uint64_t now_ns, uint64_t stale_after_ns);

  uint64_t in_flight_ns() const;
  uint64_t completed_ns() const { return completed_ns_; }
  // True once after the counters moved.
  bool take_moved();

 private:
  uint64_t submitted_ns_ = 0;
  uint64_t completed_ns_ = 0;
  uint64_t moved_at_ns_ = 0;
  bool moved_ = false;
  bool stale_ = false;
};

}  // namespace gacer::regulator
