// SPDX-License-Identifier: Apache-2.0
#include "interpose/proc_address.h"

#include <cstring>
#include <iterator>

#include "interpose/driver.h"
#include "interpose/hook_declarations.h"

namespace gacer::interpose {
namespace {

// The words of the row list.
#define GACER_STREAM_any StreamKind::kAny
#define GACER_STREAM_legacy StreamKind::kLegacy
#define GACER_STREAM_ptsz StreamKind::kPerThread
#define GACER_STREAM_ptds StreamKind::kPerThread
#define GACER_CLASS_gated HookClass::kGated
#define GACER_CLASS_accounted HookClass::kAccounted
#define GACER_CLASS_observed HookClass::kObserved

const HookRow kRows[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  {#symbol,                                                   \
   #base,                                                     \
   version,                                                   \
   GACER_STREAM_##stream,                                     \
   GACER_CLASS_##hook_class,                                  \
   reinterpret_cast<void*>(&gacer_hook_##symbol)},
#include "interpose/cuda_hooks.def"
};

struct OtherAbi {
  const char* base;
  int version;
};
constexpr OtherAbi kOtherAbis[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class)
#define GACER_OTHER_ABI(base, version) {#base, version},
#include "interpose/cuda_hooks.def"
};

// Where the driver exports each row's symbol; filled with the driver table.
const void* driver_address(const HookRow& row) {
  const DriverTable& table = driver();
  const void* const addresses[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  reinterpret_cast<const void*>(table.symbol),
#include "interpose/cuda_hooks.def"
  };
  return addresses[&row - kRows];
}

bool stream_fits(StreamKind row, uint64_t flags) {
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  if (row == StreamKind::kAny) return true;
  return per_thread == (row == StreamKind::kPerThread);
}

const HookRow* newest_row(const char* name, int cuda_version, uint64_t flags) {
  const HookRow* best = nullptr;
  for (const HookRow& row : kRows) {
    if (row.version > cuda_version || strcmp(row.base, name) != 0 ||
        !stream_fits(row.stream, flags))
      continue;
    if (best == nullptr || row.version > best->version) best = &row;
  }
  return best;
}

const HookRow* row_of_address(const void* real) {
  for (const HookRow& row : kRows)
    if (driver_address(row) == real) return &row;
  return nullptr;
}

bool abi_is_known(const char* name, int cuda_version) {
  if (cuda_version > CUDA_VERSION) return false;
  for (const OtherAbi& other : kOtherAbis)
    if (strcmp(other.base, name) == 0 && cuda_version >= other.version) return false;
  return true;
}

}  // namespace

HookTable hook_table() {
  return {kRows, static_cast<uint32_t>(std::size(kRows))};
}

void* hook_for(const char* name, int cuda_version, uint64_t flags, void* real) {
  if (name == nullptr || real == nullptr) return real;
  const HookRow* asked = newest_row(name, cuda_version, flags);
  if (asked != nullptr && driver_address(*asked) == real) return asked->hook;
  if (const HookRow* same = row_of_address(real)) return same->hook;
  if (asked != nullptr && abi_is_known(name, cuda_version)) return asked->hook;
  return real;
}

}  // namespace gacer::interpose
