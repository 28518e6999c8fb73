// SPDX-License-Identifier: Apache-2.0
// The time of one warp while it is executed: what clocks show and nanosleep adds.
//
// Executed instructions advance it by the chains of their basic blocks at nominal latencies. A loop
// that does nothing but look at a clock is a wait: executing it for every clock it asks for would
// take for ever, so after some such looks each further one lets 1/64 of the time waited so far
// pass. A wait ends at most that much late.
#pragma once

#include <cstdint>

namespace gacer::simdevice {

class WarpClock {
 public:
  void reset() { *this = {}; }
  void run(uint32_t clocks) { clocks_ += clocks; }
  // Ends at a tick of the timer.
  void sleep(uint64_t ns) { slept_ns_ += (ns + kTimerTickNs - 1) / kTimerTickNs * kTimerTickNs; }
  // The warp looks; `issued` and `work`: its instructions and its memory accesses so far.
  void look(uint64_t issued, uint64_t work, uint32_t clock_mhz);

  uint64_t clocks(uint32_t clock_mhz) const { return clocks_ + slept_ns_ * clock_mhz / 1000; }
  uint64_t ns(uint32_t clock_mhz) const { return slept_ns_ + clocks_ * 1000 / clock_mhz; }
  // That no instruction accounts for.
  uint64_t slept_ns() const { return slept_ns_; }

 private:
  static constexpr uint64_t kTimerTickNs = 32;  // of %globaltimer
  static constexpr uint32_t kLooks = 16;        // in a row before they are a wait
  static constexpr uint64_t kLoopInstructions = 48;

  uint64_t clocks_ = 0;
  uint64_t slept_ns_ = 0;
  uint64_t last_issued_ = 0;
  uint64_t last_work_ = 0;
  uint64_t since_ns_ = 0;
  uint32_t looks_ = 0;
};

}  // namespace gacer::simdevice
