// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_ledger.h"

#include <algorithm>

#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

uint64_t MemoryLedger::limit_bytes() {
  if (Attachment* attachment = session_.current()) {
    last_limit_bytes_.store(attachment->segment.gate.memory_limit_bytes.load(kRelaxed), kRelaxed);
    limit_heard_.store(true, kRelaxed);
  }
  if (limit_heard_.load(kRelaxed)) return last_limit_bytes_.load(kRelaxed);
  return session_.config().memory_limit_bytes;
}

uint64_t MemoryLedger::tenant_used_bytes() {
  Attachment* attachment = session_.current();
  if (attachment != nullptr && limit_bytes() != 0) {
    const SleepGuard guard(lock_);
    bool granted = false;
    reserve_at_daemon(*attachment, 0, granted);
  }
  return used_bytes() + others_bytes_.load(kRelaxed);
}

void MemoryLedger::add(uint64_t bytes) {
  const uint64_t now = session_.memory_in_use().fetch_add(bytes, kRelaxed) + bytes;
  if (Attachment* attachment = session_.current())
    attachment->segment.progress.memory_bytes.store(now, kRelaxed);
}

void MemoryLedger::subtract(uint64_t bytes) {
  const uint64_t now = session_.memory_in_use().fetch_sub(bytes, kRelaxed) - bytes;
  if (Attachment* attachment = session_.current())
    attachment->segment.progress.memory_bytes.store(now, kRelaxed);
}

bool MemoryLedger::reserve_locally(uint64_t bytes, uint64_t limit) {
  const uint64_t used = used_bytes();
  if (used > limit || bytes > limit - used) return false;
  add(bytes);
  return true;
}

// Caller holds lock_.
void MemoryLedger::know_attachment(Attachment& attachment) {
  if (reported_to_ == &attachment) return;
  reported_to_ = &attachment;
  reported_bytes_ = attachment.memory_told_bytes;
}

// Asks for what the daemon does not know of yet: this allocation, and older ones made while there
// was no limit. Caller holds lock_. False: no answer.
bool MemoryLedger::reserve_at_daemon(Attachment& attachment, uint64_t bytes, bool& granted) {
  know_attachment(attachment);
  const uint64_t wanted = used_bytes() + bytes;
  const uint64_t ask = wanted > reported_bytes_ ? wanted - reported_bytes_ : 0;
  uint64_t tenant_used = 0;
  if (!session_.reserve_memory(attachment, ask, granted, tenant_used)) return false;
  if (granted) reported_bytes_ += ask;
  others_bytes_.store(tenant_used > reported_bytes_ ? tenant_used - reported_bytes_ : 0, kRelaxed);
  return true;
}

bool MemoryLedger::reserve(uint64_t bytes) {
  Attachment* attachment = attached();
  const uint64_t limit = limit_bytes();
  if (limit == 0) {
    add(bytes);
    return true;
  }
  const SleepGuard guard(lock_);
  bool granted = false;
  if (attachment == nullptr || !reserve_at_daemon(*attachment, bytes, granted))
    return reserve_locally(bytes, limit);
  if (granted) add(bytes);
  return granted;
}

// Tells the daemon, if it was told of them. Caller holds lock_.
void MemoryLedger::give_back(uint64_t bytes) {
  subtract(bytes);
  Attachment* attachment = session_.current();
  if (attachment == nullptr) return;
  know_attachment(*attachment);
  const uint64_t surplus = reported_bytes_ - std::min(reported_bytes_, used_bytes());
  const uint64_t told = std::min(surplus, bytes);
  if (told == 0) return;
  reported_bytes_ -= told;
  session_.release_memory(*attachment, told);
}

void MemoryLedger::cancel(uint64_t bytes) {
  const SleepGuard guard(lock_);
  give_back(bytes);
}

void MemoryLedger::commit(uint64_t pointer, uint64_t bytes) {
  const SleepGuard guard(lock_);
  // No memory for the entry: its free will not be recognised, so it must not stay charged either.
  if (!allocations_.set(pointer, bytes)) give_back(bytes);
}

uint64_t MemoryLedger::release(uint64_t pointer) {
  const SleepGuard guard(lock_);
  uint64_t bytes = 0;
  if (allocations_.take(pointer, bytes)) give_back(bytes);
  return bytes;
}

void MemoryLedger::restore(uint64_t pointer, uint64_t bytes) {
  const SleepGuard guard(lock_);
  if (allocations_.set(pointer, bytes)) add(bytes);
}

void MemoryLedger::reset() {
  lock_.force_open();
  allocations_.clear();
  reported_to_ = nullptr;
  reported_bytes_ = 0;
  others_bytes_.store(0, kRelaxed);
}

}  // namespace gacer::interpose
