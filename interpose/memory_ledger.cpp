// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_ledger.h"

#include <algorithm>

#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
using Kind = abi::MemoryKind;

uint64_t minus(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

}  // namespace

uint64_t MemoryLedger::limit_bytes() {
  if (Attachment* attachment = session_.current()) {
    last_limit_bytes_.store(attachment->segment.gate.memory_limit_bytes.load(kRelaxed), kRelaxed);
    limit_heard_.store(true, kRelaxed);
  }
  if (!limit_heard_.load(kRelaxed)) return session_.config().memory_limit_bytes;
  const uint64_t limit = last_limit_bytes_.load(kRelaxed);
  return limit != 0 ? limit : answered_limit_bytes_.load(kRelaxed);
}

bool MemoryLedger::limited() {
  attached();
  return limit_bytes() != 0;
}

void MemoryLedger::add(uint32_t device, uint64_t bytes) {
  session_.memory_in_use(device).fetch_add(bytes, kRelaxed);
  if (Attachment* attachment = session_.current())
    attachment->segment.progress.memory_bytes.store(used_bytes(), kRelaxed);
}

void MemoryLedger::subtract(uint32_t device, uint64_t bytes) {
  session_.memory_in_use(device).fetch_sub(bytes, kRelaxed);
  if (Attachment* attachment = session_.current())
    attachment->segment.progress.memory_bytes.store(used_bytes(), kRelaxed);
}

// Caller holds lock_.
void MemoryLedger::know_attachment(Attachment& attachment) {
  if (reported_to_ == &attachment) return;
  reported_to_ = &attachment;
  answered_limit_bytes_.store(attachment.segment.gate.memory_limit_bytes.load(kRelaxed), kRelaxed);
  for (Account& account : accounts_) account.reported_bytes = account.reported_overhead_bytes = 0;
  if (attachment.memory_told_device < kMaxDevices)
    accounts_[attachment.memory_told_device].reported_bytes = attachment.memory_told_bytes;
}

// Caller holds lock_. False: no answer.
bool MemoryLedger::ask(Attachment& attachment, uint32_t device, uint64_t bytes, Kind kind,
                       MemoryReply& reply) {
  const MemoryRequest request{devices_.at(device).uuid, bytes, kind};
  if (!session_.reserve_memory(attachment, request, reply)) return false;
  Account& account = accounts_[device];
  if (reply.granted && kind == Kind::kOverhead) account.reported_overhead_bytes += bytes;
  if (reply.granted && kind != Kind::kOverhead) account.reported_bytes += bytes;
  account.others_bytes = minus(reply.used_bytes, account.reported_bytes);
  answered_limit_bytes_.store(reply.limit_bytes, kRelaxed);
  return true;
}

// Tells of what the daemon does not know of yet: allocations made while there was no limit or no
// daemon. Caller holds lock_.
bool MemoryLedger::catch_up(Attachment& attachment, uint32_t device, MemoryReply& reply) {
  know_attachment(attachment);
  const Account& account = accounts_[device];
  const uint64_t overhead = minus(account.overhead_bytes, account.reported_overhead_bytes);
  if (overhead != 0 && !ask(attachment, device, overhead, Kind::kOverhead, reply)) return false;
  const uint64_t held = minus(used_bytes(device), account.reported_bytes);
  return held == 0 || ask(attachment, device, held, Kind::kHeld, reply);
}

bool MemoryLedger::reserve_at_daemon(Attachment& attachment, uint32_t device, uint64_t bytes,
                                     MemoryReply& reply) {
  return catch_up(attachment, device, reply) &&
         ask(attachment, device, bytes, Kind::kAllocation, reply);
}

// As the daemon does it for a tenant, see runtime/daemon/memory_ledger.h. Caller holds lock_.
void MemoryLedger::count_overhead_locally(Account& account) {
  const uint64_t limit = limit_bytes();
  account.counted_overhead_bytes = account.overhead_bytes < limit ? account.overhead_bytes : 0;
}

uint64_t MemoryLedger::locally_used(uint32_t device) {
  count_overhead_locally(accounts_[device]);
  return used_bytes(device) + accounts_[device].counted_overhead_bytes;
}

bool MemoryLedger::reserve_locally(uint32_t device, uint64_t bytes, uint64_t limit) {
  const uint64_t used = locally_used(device);
  if (used > limit || bytes > limit - used) return false;
  add(device, bytes);
  return true;
}

bool MemoryLedger::reserve(uint32_t device, uint64_t bytes) {
  if (device == kNoDevice) return true;
  Attachment* attachment = attached();
  const uint64_t limit = limit_bytes();
  if (limit == 0) {
    add(device, bytes);
    return true;
  }
  const SleepGuard guard(lock_);
  MemoryReply reply;
  if (attachment == nullptr || !reserve_at_daemon(*attachment, device, bytes, reply))
    return reserve_locally(device, bytes, limit);
  if (reply.granted) add(device, bytes);
  return reply.granted;
}

void MemoryLedger::force(uint32_t device, uint64_t bytes) {
  if (device == kNoDevice || bytes == 0) return;
  Attachment* attachment = attached();
  const SleepGuard guard(lock_);
  add(device, bytes);
  MemoryReply reply;
  if (attachment != nullptr && limit_bytes() != 0) catch_up(*attachment, device, reply);
}

// Gives back what the driver has taken back, and tells the daemon if it was told of it. Caller
// holds lock_.
void MemoryLedger::release(uint32_t device, uint64_t bytes) {
  subtract(device, bytes);
  Attachment* attachment = session_.current();
  if (attachment == nullptr) return;
  know_attachment(*attachment);
  Account& account = accounts_[device];
  const uint64_t told = std::min(minus(account.reported_bytes, used_bytes(device)), bytes);
  if (told == 0) return;
  account.reported_bytes -= told;
  session_.release_memory(*attachment, {devices_.at(device).uuid, told, Kind::kAllocation});
}

void MemoryLedger::cancel(uint32_t device, uint64_t bytes) {
  if (device == kNoDevice || bytes == 0) return;
  const SleepGuard guard(lock_);
  release(device, bytes);
}

void MemoryLedger::keep(const MemoryRecord& record) {
  if (record.device == kNoDevice) return;
  const SleepGuard guard(lock_);
  // No memory for the entry: its free will not be recognised, so it must not stay charged either.
  if (!records_.put(record)) release(record.device, record.bytes);
}

bool MemoryLedger::take(uint64_t key, MemoryRecord& record) {
  const SleepGuard guard(lock_);
  return records_.take(key, record);
}

void MemoryLedger::put_back(const MemoryRecord& record) {
  keep(record);
}

void MemoryLedger::context_gone(CUcontext context) {
  if (context == nullptr) return;
  const SleepGuard guard(lock_);
  records_.take_if([&](const MemoryRecord& record) { return record.context == context; },
                   [&](const MemoryRecord& record) { release(record.device, record.bytes); });
}

void MemoryLedger::add_overhead(uint32_t device, uint64_t bytes) {
  if (device == kNoDevice || bytes == 0) return;
  Attachment* attachment = attached();
  const SleepGuard guard(lock_);
  accounts_[device].overhead_bytes += bytes;
  MemoryReply reply;
  if (attachment != nullptr) catch_up(*attachment, device, reply);
}

void MemoryLedger::remove_overhead(uint32_t device, uint64_t bytes) {
  if (device == kNoDevice || bytes == 0) return;
  const SleepGuard guard(lock_);
  Account& account = accounts_[device];
  account.overhead_bytes -= std::min(account.overhead_bytes, bytes);
  Attachment* attachment = session_.current();
  if (attachment == nullptr) return;
  know_attachment(*attachment);
  const uint64_t told = minus(account.reported_overhead_bytes, account.overhead_bytes);
  if (told == 0) return;
  account.reported_overhead_bytes -= told;
  session_.release_memory(*attachment, {devices_.at(device).uuid, told, Kind::kOverhead});
}

uint64_t MemoryLedger::overhead_bytes(uint32_t device) {
  const SleepGuard guard(lock_);
  return accounts_[device].overhead_bytes;
}

MemoryView MemoryLedger::view(uint32_t device) {
  MemoryView view;
  view.total_bytes = devices_.at(device).total_bytes;
  Attachment* attachment = session_.current();
  view.limit_bytes = limit_bytes();
  if (view.limit_bytes == 0) return view;
  const SleepGuard guard(lock_);
  MemoryReply reply;
  if (attachment != nullptr && reserve_at_daemon(*attachment, device, 0, reply)) {
    view.limit_bytes = reply.limit_bytes;
    view.used_bytes = reply.used_bytes;
    view.overhead_bytes = reply.overhead_bytes;
    return view;
  }
  view.used_bytes = locally_used(device);
  view.overhead_bytes = accounts_[device].overhead_bytes;
  // With a daemon that does not answer, what it said last of the others is the best there is.
  if (attachment != nullptr) view.used_bytes += accounts_[device].others_bytes;
  return view;
}

void MemoryLedger::tell(Attachment& attachment) {
  const SleepGuard guard(lock_);
  if (told_to_ == &attachment) return;
  told_to_ = &attachment;
  know_attachment(attachment);
  MemoryReply reply;
  for (uint32_t device = 0; device < devices_.count(); ++device)
    if (!catch_up(attachment, device, reply)) return;
}

void MemoryLedger::reset() {
  lock_.force_open();
  devices_.reset_lock();
  records_.clear();
  reported_to_ = told_to_ = nullptr;
  answered_limit_bytes_.store(0, kRelaxed);
  for (Account& account : accounts_) account = {};
}

}  // namespace gacer::interpose
