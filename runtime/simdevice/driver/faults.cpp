// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/faults.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace gacer::simdriver {

bool allocation_must_fail() {
  static const char* text = getenv("SIMGPU_OOM_AT");
  static const uint64_t wanted = text == nullptr ? 0 : strtoull(text, nullptr, 10);
  static std::atomic<uint64_t> allocations{0};
  if (wanted == 0) return false;
  return allocations.fetch_add(1, std::memory_order_relaxed) + 1 == wanted;
}

}  // namespace gacer::simdriver
