// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC for launch records, at half its price where the processor counts at a constant
// rate: the time stamp counter, set against the real clock at every synchronise(). Errors are below
// a microsecond between two of these. Readers are lock-free; one that is interrupted over two
// synchronisations may answer a wrong time once.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gacer::interpose {

class LaunchClock {
 public:
  // Inline: on the path of every recorded launch.
  uint64_t now_ns() const {
    // Pairs with the release in synchronise().
    const Base& base = bases_[current_.load(std::memory_order_acquire)];
    const uint64_t rate = base.ns_per_tick_q32.load(std::memory_order_relaxed);
    if (rate == 0) return real_now_ns();
    const uint64_t ticks = ticks_now() - base.ticks.load(std::memory_order_relaxed);
    return base.time_ns.load(std::memory_order_relaxed) +
           static_cast<uint64_t>(Wide{ticks} * rate >> 32);
  }
  // From time to time, by any thread.
  void synchronise();

 private:
  __extension__ using Wide = unsigned __int128;
  struct Base {
    std::atomic<uint64_t> ticks{0};
    std::atomic<uint64_t> time_ns{0};
    std::atomic<uint64_t> ns_per_tick_q32{0};  // 0: not known
  };

#if defined(__x86_64__)
  static uint64_t ticks_now() {
    return __rdtsc();
  }
#else
  static uint64_t ticks_now() {
    return 0;
  }
#endif
  static bool ticks_are_constant();
  static uint64_t real_now_ns();

  Base bases_[2];
  std::atomic<uint32_t> current_{0};
  std::atomic<uint64_t> first_ticks_{0};
  std::atomic<uint64_t> first_ns_{0};
};

}  // namespace gacer::interpose
