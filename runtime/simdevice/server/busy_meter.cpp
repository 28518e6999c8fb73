// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/busy_meter.h"

#include <algorithm>

namespace gacer::simdevice {
namespace {

constexpr uint64_t kStepNs = kSamplePeriodNs / 32;

}  // namespace

void WindowedTotal::note(uint64_t now_ns, uint64_t total) {
  if (!points_.empty()) now_ns = std::max(now_ns, points_.back().at_ns);
  const size_t count = points_.size();
  // The last point moves with time until it is a step away from the one before.
  if (count >= 2 && now_ns - points_[count - 2].at_ns < kStepNs) points_.pop_back();
  points_.push_back({now_ns, total});
  while (points_.size() > 2 && points_[1].at_ns + kSamplePeriodNs <= now_ns) points_.pop_front();
}

uint64_t WindowedTotal::total_at(uint64_t at_ns) const {
  const auto after = std::find_if(points_.begin(), points_.end(),
                                  [&](const Point& point) { return point.at_ns > at_ns; });
  if (after == points_.begin()) return after->total;
  const Point& before = *std::prev(after);
  if (after == points_.end()) return before.total;
  const double share =
      static_cast<double>(at_ns - before.at_ns) / static_cast<double>(after->at_ns - before.at_ns);
  return before.total +
         static_cast<uint64_t>(share * static_cast<double>(after->total - before.total));
}

uint64_t WindowedTotal::growth() const {
  if (points_.empty()) return 0;
  return points_.back().total - total_at(points_.back().at_ns - window_ns());
}

uint64_t WindowedTotal::window_ns() const {
  if (points_.empty()) return 0;
  return std::min(kSamplePeriodNs, points_.back().at_ns - points_.front().at_ns);
}

void BusyMeter::advance(uint64_t now_ns) {
  now_ns = std::max(now_ns, since_ns_);
  // Between two changes the state is the same: a point where it began keeps idle and busy apart.
  history_.note(since_ns_, total_ns_);
  if (running_ > 0) total_ns_ += now_ns - since_ns_;
  since_ns_ = now_ns;
  history_.note(now_ns, total_ns_);
}

void BusyMeter::start(uint64_t now_ns) {
  advance(now_ns);
  ++running_;
}

void BusyMeter::stop(uint64_t now_ns) {
  advance(now_ns);
  if (running_ > 0) --running_;
}

uint64_t BusyMeter::busy_ns(uint64_t now_ns) {
  advance(now_ns);
  return history_.growth();
}

}  // namespace gacer::simdevice
