// SPDX-License-Identifier: Apache-2.0
// The C++ side of the generated forwarders, which only the preloaded library has.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "interpose/proc_address.h"
#include "runtime/base/log.h"

namespace {

// In the order of the generated table: sorted.
constexpr const char* kForwardNames[] = {
#include "forward_names.inc"
};
constexpr uint32_t kForwardCount = sizeof kForwardNames / sizeof kForwardNames[0];

uint32_t first_not_before(const char* name) {
  uint32_t low = 0;
  uint32_t high = kForwardCount;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (strcmp(kForwardNames[middle], name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

// One pointer per forwarder; starts at the code that calls gacer_forward_resolve.
extern std::atomic<void*> gacer_forward_table[];
extern uint64_t gacer_forward_counts[];
// From the table's own address to each forwarder: nothing for the loader to relocate.
extern const int32_t gacer_forward_offsets[];  // NOLINT: a name of the generated file

// Kept only once the driver is there, so that a call made while it is opened is looked up again.
void* gacer_forward_resolve(uint32_t index) {
  void* function = driver_symbol(kForwardNames[index]);
  const bool found = driver_found();
  if (function == nullptr) {
    gacer::log_line(gacer::LogLevel::kInfo, "gacer", "the driver has no %s", kForwardNames[index]);
    function = missing_function(found ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NO_DEVICE);
  } else {
    note_forwarded_function(kForwardNames[index], &gacer_forward_counts[index]);
  }
  // Pairs with publish().
  if (detail::driver_ready.load(std::memory_order_acquire))
    gacer_forward_table[index].store(function, std::memory_order_release);  // read by one jump
  return function;
}

// The forwarder of the variant of `base` that the driver exports at `real`. NULL: none.
void* gacer_forwarder_for(const char* base, const void* real) {
  const size_t length = strlen(base);
  for (uint32_t i = first_not_before(base); i < kForwardCount; ++i) {
    const char* symbol = kForwardNames[i];
    if (strncmp(symbol, base, length) != 0) break;
    if (!is_variant_of(symbol, base)) continue;
    if (driver_symbol(symbol) != real) continue;
    const auto* table = reinterpret_cast<const char*>(gacer_forward_offsets);
    return const_cast<char*>(table + gacer_forward_offsets[i]);
  }
  return nullptr;
}

}  // extern "C"
