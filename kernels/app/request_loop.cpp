// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/request_loop.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

namespace gacer::kernels {
namespace {

constexpr std::uint64_t kStopPollNs = 10'000'000;

class Loop {
 public:
  Loop(Arrivals& arrivals, const LoopLimits& limits, LoopClock& clock)
      : arrivals_(arrivals), limits_(limits), clock_(clock), start_ns_(clock.now_ns()) {
    end_ns_ = limits.seconds > 0.0 ? start_ns_ + static_cast<std::uint64_t>(limits.seconds * 1e9)
                                   : std::numeric_limits<std::uint64_t>::max();
  }

  LoopResult run(const std::function<bool()>& request) {
    LoopResult result;
    while (!finished(result)) {
      const std::optional<std::uint64_t> begin_ns = next_begin_ns();
      if (!begin_ns) break;
      if (!request()) {
        result.failed = true;
        break;
      }
      const std::uint64_t now_ns = clock_.now_ns();
      result.latencies_ns.push_back(now_ns - *begin_ns);
      result.elapsed_s = static_cast<double>(now_ns - start_ns_) * 1e-9;
    }
    return result;
  }

 private:
  bool stopped() { return clock_.now_ns() >= end_ns_ || (limits_.stop && limits_.stop()); }

  bool finished(const LoopResult& result) {
    const auto done = static_cast<long long>(result.latencies_ns.size());
    return (limits_.requests > 0 && done >= limits_.requests) || stopped();
  }

  // From when the next request's latency counts; nullopt when there is none to come.
  std::optional<std::uint64_t> next_begin_ns() {
    if (!arrivals_.open_loop()) return clock_.now_ns();
    const std::optional<std::uint64_t> offset_ns = arrivals_.next_ns();
    if (!offset_ns) return std::nullopt;
    const std::uint64_t arrival_ns = start_ns_ + *offset_ns;
    return wait_until(arrival_ns) ? std::optional(arrival_ns) : std::nullopt;
  }

  bool wait_until(std::uint64_t time_ns) {
    while (clock_.now_ns() < time_ns) {
      if (stopped()) return false;
      clock_.sleep_until_ns(std::min({time_ns, end_ns_, clock_.now_ns() + kStopPollNs}));
    }
    return true;
  }

  Arrivals& arrivals_;
  const LoopLimits& limits_;
  LoopClock& clock_;
  std::uint64_t start_ns_;
  std::uint64_t end_ns_;
};

}  // namespace

std::uint64_t SteadyLoopClock::now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void SteadyLoopClock::sleep_until_ns(std::uint64_t time_ns) {
  std::this_thread::sleep_until(
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(time_ns)));
}

LoopResult run_requests(const std::function<bool()>& request, Arrivals& arrivals,
                        const LoopLimits& limits, LoopClock& clock) {
  return Loop(arrivals, limits, clock).run(request);
}

}  // namespace gacer::kernels
