// SPDX-License-Identifier: Apache-2.0
// Issues requests one after another and times each.
// Closed loop: the next starts when the last has ended; latency counts from its start.
// Open loop: requests arrive on their own and queue; latency counts from the arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/app/arrivals.h"

namespace gacer::kernels {

// Time since an arbitrary zero. Passed in so that tests need not wait.
class LoopClock {
 public:
  virtual ~LoopClock() = default;
  virtual std::uint64_t now_ns() = 0;
  virtual void sleep_until_ns(std::uint64_t time_ns) = 0;
};

class SteadyLoopClock final : public LoopClock {
 public:
  std::uint64_t now_ns() override;
  void sleep_until_ns(std::uint64_t time_ns) override;
};

struct LoopLimits {
  long long requests = 0;      // 0: no limit
  double seconds = 0.0;        // 0: no limit
  std::function<bool()> stop;  // asked before each request and while waiting; may be empty
};

struct LoopResult {
  std::vector<std::uint64_t> latencies_ns;  // of completed requests, in order
  double elapsed_s = 0.0;                   // start to the end of the last request
  bool failed = false;                      // a request returned false; it is not counted
};

// `request` runs one request to its end and returns false on failure.
LoopResult run_requests(const std::function<bool()>& request, Arrivals& arrivals,
                        const LoopLimits& limits, LoopClock& clock);

}  // namespace gacer::kernels
