// SPDX-License-Identifier: Apache-2.0
// Which of our hooks stands for the function that cuGetProcAddress has just answered.
#pragma once

#include <cstdint>

namespace gacer::interpose {

enum class StreamKind : uint8_t { kAny, kLegacy, kPerThread };
enum class HookClass : uint8_t { kGated, kAccounted, kObserved };

struct HookRow {
  const char* symbol;
  const char* base;
  int version;  // first CUDA version in which `base` means `symbol`
  StreamKind stream;
  HookClass hook_class;
  void* hook;  // gacer_hook_<symbol>
};

struct HookTable {
  const HookRow* rows;
  uint32_t count;
};
HookTable hook_table();

// Whether `symbol` is `base` with or without suffixes of ABI and stream: cuMemcpy_v2_ptds of
// cuMemcpy.
bool is_variant_of(const char* symbol, const char* base);

// The function to hand out in place of `real`, which the driver has answered for (name, version,
// flags):
//  - a hook, and after that a forwarder, whose symbol in the driver is `real` itself and a variant
//    of the name; the row of the asked version first;
//  - else, for CUDA versions that this shim was built with, the hook of the asked name, version and
//    stream variant, if the driver exports its symbol;
//  - else `real`: an ABI we do not know is never guessed.
// `flags` as for cuGetProcAddress. Never NULL for a non-NULL `real`. Thread-safe; loads the driver.
void* hook_for(const char* name, int cuda_version, uint64_t flags, void* real);

}  // namespace gacer::interpose
