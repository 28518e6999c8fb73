// SPDX-License-Identifier: Apache-2.0
#include "interpose/launch_clock.h"

#include "runtime/base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint64_t kLeastBaselineNs = 1'000'000;  // to know the rate from

}  // namespace

#if defined(__x86_64__)
bool LaunchClock::ticks_are_constant() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned invariant_tsc = 1u << 8;  // leaf 0x80000007, EDX
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & invariant_tsc) != 0;
}
#else
bool LaunchClock::ticks_are_constant() {
  return false;
}
#endif

uint64_t LaunchClock::real_now_ns() {
  return monotonic_now_ns();
}

void LaunchClock::synchronise() {
  const uint64_t now_ns = monotonic_now_ns();
  const uint64_t ticks = ticks_now();
  if (first_ns_.load(kRelaxed) == 0) {
    first_ticks_.store(ticks, kRelaxed);
    first_ns_.store(ticks_are_constant() ? now_ns : UINT64_MAX, kRelaxed);
    return;
  }
  const uint64_t first_ns = first_ns_.load(kRelaxed);
  const uint64_t first_ticks = first_ticks_.load(kRelaxed);
  if (first_ns == UINT64_MAX || now_ns - first_ns < kLeastBaselineNs || ticks <= first_ticks)
    return;
  const uint32_t next = 1 - current_.load(kRelaxed);
  Base& base = bases_[next];
  base.ticks.store(ticks, kRelaxed);
  base.time_ns.store(now_ns, kRelaxed);
  base.ns_per_tick_q32.store(
      static_cast<uint64_t>((Wide{now_ns - first_ns} << 32) / (ticks - first_ticks)), kRelaxed);
  current_.store(next, std::memory_order_release);  // pairs with now_ns()
}

}  // namespace gacer::interpose
