// SPDX-License-Identifier: Apache-2.0
// Time as a dependency. Only daemons, tools and tenants read a real clock; cores get now_ns passed
// in.
#pragma once

#include <cstdint>

namespace gacer {

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic nanoseconds; the zero point is arbitrary. Thread-safe.
  virtual uint64_t now_ns() const = 0;
};

// CLOCK_MONOTONIC.
class SteadyClock final : public Clock {
 public:
  uint64_t now_ns() const override;
};

// Moves only when told. Not thread-safe.
class ManualClock final : public Clock {
 public:
  uint64_t now_ns() const override { return now_ns_; }
  void advance(uint64_t delta_ns) { now_ns_ += delta_ns; }

 private:
  uint64_t now_ns_ = 0;
};

// CLOCK_MONOTONIC without a Clock object, for tenant code that must not allocate.
uint64_t monotonic_now_ns();

}  // namespace gacer
