// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/clock.h"

#include <ctime>

namespace gacer {

uint64_t monotonic_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t SteadyClock::now_ns() const {
  return monotonic_now_ns();
}

}  // namespace gacer
