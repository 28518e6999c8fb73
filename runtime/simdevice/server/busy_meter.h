// SPDX-License-Identifier: Apache-2.0
// How much of the newest sample period something was going on: kernels running, bytes moved. Pure,
// in model time.
#pragma once

#include <cstdint>
#include <deque>

namespace gacer::simdevice {

// As nvidia-smi: "between 1 second and 1/6 second, depending on the product" (nvmlUtilization_t).
inline constexpr uint64_t kSamplePeriodNs = 166'666'667;

// An amount that grows with time and is asked for its growth over the sample period. Between
// two notes, and within a step of a 32nd of the period, the amount is taken to grow evenly. A time
// before the last one counts as that.
class WindowedTotal {
 public:
  // The amount is `total` at `now_ns`.
  void note(uint64_t now_ns, uint64_t total);
  // Growth over the window that ends at the last note.
  uint64_t growth() const;
  // Length of that window: the sample period, less while there is no history of that length.
  uint64_t window_ns() const;

 private:
  struct Point {
    uint64_t at_ns;
    uint64_t total;
  };
  uint64_t total_at(uint64_t at_ns) const;
  std::deque<Point> points_;  // a step apart, but for the last
};

// Time with at least one of several things running.
class BusyMeter {
 public:
  void start(uint64_t now_ns);
  void stop(uint64_t now_ns);
  uint32_t running() const { return running_; }
  uint64_t busy_ns(uint64_t now_ns);
  uint64_t window_ns() const { return history_.window_ns(); }

 private:
  void advance(uint64_t now_ns);
  uint32_t running_ = 0;
  uint64_t since_ns_ = 0;
  uint64_t total_ns_ = 0;
  WindowedTotal history_;
};

}  // namespace gacer::simdevice
