// SPDX-License-Identifier: Apache-2.0
#include "interpose/unknown_functions.h"

#include <cstdio>
#include <cstring>

#include "runtime/abi/function_names.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// The forwarder adds without an atomic instruction; a torn value cannot be read on our machines.
uint64_t count_of(const uint64_t* calls) {
  return calls == nullptr ? 0 : __atomic_load_n(calls, __ATOMIC_RELAXED);
}

}  // namespace

UnknownFunctions::Row* UnknownFunctions::find_or_add(const char* name) {
  const uint32_t used = used_.load(kRelaxed);
  for (uint32_t i = 0; i < used; ++i)
    if (strncmp(rows_[i].name, name, abi::kUnknownNameBytes - 1) == 0) return &rows_[i];
  if (used == abi::kUnknownFunctionRows) {
    ++beyond_;
    return nullptr;
  }
  snprintf(rows_[used].name, sizeof rows_[used].name, "%s", name);
  used_.store(used + 1, kRelaxed);
  return &rows_[used];
}

void UnknownFunctions::add_forwarded(const char* name, const uint64_t* calls) {
  if (!abi::sounds_like_launch_or_allocation(name)) return;
  const SpinGuard guard(lock_);
  if (Row* row = find_or_add(name)) row->calls = calls;
}

void UnknownFunctions::add_handed_out(const char* name) {
  if (!abi::sounds_like_launch_or_allocation(name)) return;
  const SpinGuard guard(lock_);
  if (Row* row = find_or_add(name)) ++row->handed_out;
}

void UnknownFunctions::start() {
  const SpinGuard guard(lock_);
  for (Row& row : rows_) {
    row.told_calls.base = row.told_calls.told;
    row.told_handed_out.base = row.told_handed_out.told;
  }
  told_beyond_.base = told_beyond_.told;
}

uint64_t UnknownFunctions::Count::tell(uint64_t total) {
  told = total;
  return total - base;
}

void UnknownFunctions::Row::write_to(abi::UnknownFunction& target) {
  target.handed_out.store(static_cast<uint32_t>(told_handed_out.tell(handed_out)), kRelaxed);
  target.calls.store(told_calls.tell(count_of(calls)), kRelaxed);
  if (target.named.load(kRelaxed) != 0) return;
  memcpy(target.name, name, sizeof target.name);
  target.named.store(1, std::memory_order_release);  // pairs with the daemon's acquire
}

void UnknownFunctions::write_to(abi::CoverageWords& words) {
  if (empty()) return;
  const SpinGuard guard(lock_);
  const uint32_t used = used_.load(kRelaxed);
  for (uint32_t i = 0; i < used; ++i) rows_[i].write_to(words.unknown[i]);
  words.unknown_beyond.store(told_beyond_.tell(beyond_), kRelaxed);
}

void UnknownFunctions::reset() {
  lock_.unlock();
  used_.store(0, kRelaxed);
  beyond_ = 0;
  told_beyond_ = {};
  for (Row& row : rows_) row = {};
}

}  // namespace gacer::interpose
