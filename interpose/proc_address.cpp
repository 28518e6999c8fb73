// SPDX-License-Identifier: Apache-2.0
#include "interpose/proc_address.h"

#include <cstddef>
#include <cstring>
#include <iterator>

#include "interpose/driver.h"
#include "interpose/hook_declarations.h"

// Only the preloaded library has forwarders (exports.cpp); tests of the static library have none.
extern "C" [[gnu::weak]] void* gacer_forwarder_for(const char* base, const void* real);

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

// What is forwarded: known, so that a newer forwarded ABI hides the older hooked one of its base.
struct ForwardRow {
  const char* base;
  int version;
  StreamKind stream;
};
constexpr ForwardRow kForwardRows[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class)
#define GACER_FORWARD(symbol, base, version, stream, hook_class) \
  {#base, version, GACER_STREAM_##stream},
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

constexpr size_t kTableOffsets[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) offsetof(DriverTable, symbol),
#include "interpose/cuda_hooks.def"
};

// Where the driver exports each row's symbol; filled with the driver table.
const void* driver_address(const HookRow& row) {
  const auto* table = reinterpret_cast<const char*>(&driver());
  const void* address = nullptr;
  memcpy(&address, table + kTableOffsets[&row - kRows], sizeof address);
  return address;
}

bool driver_has(const HookRow& row) {
  return !is_missing_function(driver_address(row));
}

bool stream_fits(StreamKind row, uint64_t flags) {
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  if (row == StreamKind::kAny) return true;
  return per_thread == (row == StreamKind::kPerThread);
}

template <typename Row, size_t kCount>
const Row* newest_row(const Row (&rows)[kCount], const char* name, int cuda_version,
                      uint64_t flags) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.version > cuda_version || strcmp(row.base, name) != 0 ||
        !stream_fits(row.stream, flags))
      continue;
    if (best == nullptr || row.version > best->version) best = &row;
  }
  return best;
}

// The hook that `name` means in that version; NULL: none, or a forwarded function does.
const HookRow* asked_row(const char* name, int cuda_version, uint64_t flags) {
  const HookRow* hooked = newest_row(kRows, name, cuda_version, flags);
  const ForwardRow* forwarded = newest_row(kForwardRows, name, cuda_version, flags);
  if (hooked != nullptr && forwarded != nullptr && forwarded->version > hooked->version)
    return nullptr;
  return hooked;
}

bool has_other_abi(const char* name, int cuda_version) {
  for (const OtherAbi& other : kOtherAbis)
    if (strcmp(other.base, name) == 0 && cuda_version >= other.version) return true;
  return false;
}

// Drivers may share one address among functions that they do not support: what is equal counts only
// within what the name can mean.
const HookRow* row_of_address(const char* name, int cuda_version, const void* real) {
  const bool other_abi = has_other_abi(name, cuda_version);
  for (const HookRow& row : kRows) {
    if (driver_address(row) != real) continue;
    if (is_variant_of(row.symbol, name)) return &row;
    if (other_abi && strncmp(row.symbol, name, strlen(name)) == 0) return &row;
  }
  return nullptr;
}

bool abi_is_known(const char* name, int cuda_version) {
  return cuda_version <= CUDA_VERSION && !has_other_abi(name, cuda_version);
}

}  // namespace

HookTable hook_table() {
  return {kRows, static_cast<uint32_t>(std::size(kRows))};
}

bool is_variant_of(const char* symbol, const char* base) {
  const size_t length = strlen(base);
  if (strncmp(symbol, base, length) != 0) return false;
  const char* rest = symbol + length;
  if (strncmp(rest, "_v", 2) == 0) rest += 2 + strspn(rest + 2, "0123456789");
  return *rest == '\0' || strcmp(rest, "_ptsz") == 0 || strcmp(rest, "_ptds") == 0;
}

void* hook_for(const char* name, int cuda_version, uint64_t flags, void* real) {
  if (name == nullptr || real == nullptr) return real;
  const HookRow* asked = asked_row(name, cuda_version, flags);
  if (asked != nullptr && driver_address(*asked) == real) return asked->hook;
  if (const HookRow* same = row_of_address(name, cuda_version, real)) return same->hook;
  if (&gacer_forwarder_for != nullptr)
    if (void* forwarder = gacer_forwarder_for(name, real)) return forwarder;
  if (asked != nullptr && driver_has(*asked) && abi_is_known(name, cuda_version))
    return asked->hook;
  return real;
}

}  // namespace gacer::interpose
