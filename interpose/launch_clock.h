// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC for launch records, at half its price where the processor counts at a constant
// rate: the time stamp counter, set against the real clock at every synchronise(). Errors are below
// a microsecond between two of these. Readers are lock-free; one that is interrupted over two
// synchronisations may answer a wrong time once.
#pragma once

#include <atomic>
#include <cstdint>

namespace gacer::interpose {

class LaunchClock {
 public:
  uint64_t now_ns() const;
  // From time to time, by any thread.
  void synchronise();

 private:
  struct Base {
    std::atomic<uint64_t> ticks{0};
    std::atomic<uint64_t> time_ns{0};
    std::atomic<uint64_t> ns_per_tick_q32{0};  // 0: not known
  };
  Base bases_[2];
  std::atomic<uint32_t> current_{0};
  std::atomic<uint64_t> first_ticks_{0};
  std::atomic<uint64_t> first_ns_{0};
};

}  // namespace gacer::interpose
