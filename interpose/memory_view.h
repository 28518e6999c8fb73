// SPDX-License-Identifier: Apache-2.0
// What other libraries of this process (the shim's NVML face) ask about memory. Exported by the
// preloaded library as
//
//   extern "C" int gacer_memory_view(const uint8_t uuid[16], uint64_t* total, uint64_t* used);
//
// 0: a limit applies to that device; *total = the lesser of limit and device memory, *used = what
// counts against it, at most *total. Otherwise nothing is written: kMemoryUnlimited: no limit;
// kMemoryUnknown: this process has not used CUDA yet or sees no such device, so ask gacerd
// (shm::query_memory). Thread-safe; waits for gacerd at most 1 s; never the first to load the
// driver.
#pragma once

#include <cstdint>

namespace gacer::interpose {

inline constexpr int kMemoryUnlimited = 1;
inline constexpr int kMemoryUnknown = 2;

int memory_view(const uint8_t uuid[16], uint64_t* total, uint64_t* used);

}  // namespace gacer::interpose
