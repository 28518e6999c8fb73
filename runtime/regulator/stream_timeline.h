// SPDX-License-Identifier: Apache-2.0
// Launches of one stream whose completion was not seen yet, and when the last completed one ended
// as far as that is known. Bounded memory whatever the records say. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/regulator/kernel_table.h"

namespace gacer::regulator {

struct PendingLaunch {
  KernelKey key;
  uint64_t submit_ns = 0;
  uint64_t stream_cost_ns = 0;  // cumulative
  bool after_gap = false;       // launches before it are missing from the records
};

// Launches seen to complete between two polls: all of them ended in (since_ns, until_ns].
struct CompletedGroup {
  std::vector<PendingLaunch> launches;
  uint64_t since_ns = 0;
  uint64_t until_ns = 0;
  uint64_t previous_end_ns = 0;  // of the launch before the first one
  bool usable = false;           // previous end known, no launch missing, none from the future
};

class StreamTimeline {
 public:
  static constexpr size_t kMaxPending = 1024;

  void launched(const LaunchEvent& launch);
  // Takes out what completed by now; launches is empty when nothing did.
  CompletedGroup completed(uint64_t completed_ns, uint64_t now_ns);
  // When the last launch of the group returned by completed() ended, as fitted by the caller.
  void set_end(uint64_t end_ns) { end_ns_ = end_ns; }

  void forget();  // the slot has a new stream
  size_t pending() const { return pending_.size(); }

 private:
  bool follows(const LaunchEvent& launch) const;

  std::deque<PendingLaunch> pending_;
  uint64_t newest_cost_ns_ = 0;  // cumulative cost of the newest record
  uint64_t completed_cost_ns_ = 0;
  uint64_t polled_ns_ = 0;
  uint64_t end_ns_ = 0;  // 0: unknown
  bool lost_ = true;     // records are missing after newest_cost_ns_
};

}  // namespace gacer::regulator
