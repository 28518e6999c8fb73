// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/stream_timeline.h"

#include <algorithm>
#include <utility>

namespace gacer::regulator {

bool StreamTimeline::follows(const LaunchEvent& launch) const {
  return !lost_ && launch.stream_cost_ns - launch.cost_ns == newest_cost_ns_;
}

void StreamTimeline::launched(const LaunchEvent& launch) {
  const bool late = launch.stream_cost_ns <= completed_cost_ns_;
  if (late || launch.stream_cost_ns <= newest_cost_ns_) {  // or out of order
    lost_ = true;
    newest_cost_ns_ = std::max(newest_cost_ns_, completed_cost_ns_);
    return;
  }
  pending_.push_back({key_of(launch), launch.submit_ns, launch.stream_cost_ns, !follows(launch)});
  newest_cost_ns_ = launch.stream_cost_ns;
  lost_ = false;
  if (pending_.size() <= kMaxPending) return;
  pending_.pop_front();
  pending_.front().after_gap = true;
}

CompletedGroup StreamTimeline::completed(uint64_t completed_ns, uint64_t now_ns) {
  CompletedGroup group;
  group.since_ns = polled_ns_;
  group.until_ns = now_ns;
  group.previous_end_ns = end_ns_;
  group.usable = end_ns_ != 0 && now_ns > polled_ns_;
  polled_ns_ = now_ns;
  completed_cost_ns_ = std::max(completed_cost_ns_, completed_ns);
  while (!pending_.empty() && pending_.front().stream_cost_ns <= completed_ns) {
    group.usable &= !pending_.front().after_gap && pending_.front().submit_ns < now_ns;
    group.launches.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  if (!group.launches.empty()) end_ns_ = group.since_ns + (group.until_ns - group.since_ns) / 2;
  return group;
}

void StreamTimeline::forget() {
  *this = {};
}

}  // namespace gacer::regulator
