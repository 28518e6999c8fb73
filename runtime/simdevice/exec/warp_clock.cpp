// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/warp_clock.h"

#include <algorithm>
#include <bit>

#include "runtime/simdevice/exec/specials.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {
namespace {

// nanosleep is "in [0, 2 t]", t at most 1 ms: PTX ISA.
constexpr uint32_t kLongestSleepNs = 1'000'000;

}  // namespace

void WarpClock::look(uint64_t issued, uint64_t work, uint32_t clock_mhz) {
  const bool waits = issued - last_issued_ <= kLoopInstructions && work == last_work_;
  last_issued_ = issued;
  last_work_ = work;
  if (!waits) {
    looks_ = 0;
    since_ns_ = ns(clock_mhz);
  } else if (++looks_ > kLooks) {
    slept_ns_ += (ns(clock_mhz) - since_ns_) / 64;
  }
}

bool clock_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const LaunchClock& base = warp.block().launch().clock;
  WarpClock& clock = warp.clock();
  clock.look(warp.issued(), warp.accesses(), base.clock_mhz);
  const uint64_t cycles = base.clock_cycles + clock.clocks(base.clock_mhz);
  const uint64_t ns = base.global_ns + clock.ns(base.clock_mhz);
  const auto id = static_cast<Special>(in.mode);
  const uint64_t value = id == Special::kClock || id == Special::kClock64 ? cycles
                         : id == Special::kClockHi                        ? cycles >> 32
                         : id == Special::kGlobaltimerHi                  ? ns >> 32
                                                                          : ns;
  const bool wide = id == Special::kClock64 || id == Special::kGlobaltimer;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (wide) {
      warp.lanes<uint64_t>(in.dst)[lane] = value;
    } else {
      warp.lanes<uint32_t>(in.dst)[lane] = static_cast<uint32_t>(value);
    }
  }
  return true;
}

// A warp sleeps as long as its longest lane.
bool sleep_handler(Warp& warp, const Insn& in, uint32_t mask) {
  uint32_t longest = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
    longest = std::max(longest, warp.lanes<uint32_t>(in.a)[std::countr_zero(rest)]);
  warp.clock().sleep(std::min(longest, kLongestSleepNs));
  return true;
}

}  // namespace gacer::simdevice
