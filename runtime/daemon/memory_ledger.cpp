// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/memory_ledger.h"

#include <algorithm>

namespace gacer::daemon {
namespace {

// Sums of what tenants claim must not wrap.
constexpr uint64_t kMaxBytes = uint64_t{1} << 60;
// Of a tenant; a peer that invents UUIDs must not grow the ledger without end.
constexpr size_t kMaxDevices = 64;

uint64_t limit_of(uint64_t limit_bytes) {
  return limit_bytes == 0 ? kMaxBytes : std::min(limit_bytes, kMaxBytes);
}

}  // namespace

void MemoryLedger::add_process(uint64_t process, uint64_t tenant, uint64_t limit_bytes,
                               uint64_t in_use_bytes, const abi::DeviceUuid& device) {
  const auto [entry, first] = tenants_.try_emplace(tenant);
  if (first) entry->second.limit_bytes = limit_bytes;
  ++entry->second.processes;
  processes_[process].tenant = tenant;
  reserve(process, in_use_bytes, device, Kind::kHeld);
}

void MemoryLedger::remove_process(uint64_t process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  const auto tenant = tenants_.find(found->second.tenant);
  for (const auto& [device, own] : found->second.devices) {
    Account& all = tenant->second.devices[device];
    all.allocated_bytes -= own.allocated_bytes;
    all.overhead_bytes -= own.overhead_bytes;
    all.counted_overhead_bytes -= own.counted_overhead_bytes;
  }
  if (--tenant->second.processes == 0) tenants_.erase(tenant);
  processes_.erase(found);
}

void MemoryLedger::move_process(uint64_t process, uint64_t tenant) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || tenants_.count(tenant) == 0) return;
  const Accounts held = found->second.devices;
  remove_process(process);
  ++tenants_[tenant].processes;
  processes_[process].tenant = tenant;
  for (const auto& [device, account] : held) {
    reserve(process, account.allocated_bytes, device, Kind::kHeld);
    reserve(process, account.overhead_bytes, device, Kind::kOverhead);
  }
}

uint64_t MemoryLedger::tenant_of(uint64_t process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 0 : found->second.tenant;
}

MemoryAnswer MemoryLedger::answer(const Tenant& tenant, const Account& account, bool granted) {
  return {granted, account.used_bytes(), tenant.limit_bytes, account.overhead_bytes};
}

void MemoryLedger::add_overhead(Account& all, Account& own, uint64_t limit_bytes, uint64_t bytes) {
  const uint64_t added = std::min(bytes, kMaxBytes - all.overhead_bytes);
  all.overhead_bytes += added;
  own.overhead_bytes += added;
  if (added >= limit_of(limit_bytes) - std::min(all.counted_overhead_bytes, limit_of(limit_bytes)))
    return;
  all.counted_overhead_bytes += added;
  own.counted_overhead_bytes += added;
}

MemoryAnswer MemoryLedger::reserve(uint64_t process, uint64_t bytes, const abi::DeviceUuid& device,
                                   Kind kind) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return {};
  Tenant& tenant = tenants_[found->second.tenant];
  if (tenant.devices.size() >= kMaxDevices && tenant.devices.count(device) == 0) return {};
  Account& all = tenant.devices[device];
  Account& own = found->second.devices[device];
  if (kind == Kind::kOverhead) {
    add_overhead(all, own, tenant.limit_bytes, bytes);
    return answer(tenant, all, true);
  }
  // More than the limit may be in use: no subtraction before the comparison.
  const uint64_t limit = limit_of(tenant.limit_bytes);
  const bool fits = all.used_bytes() <= limit && bytes <= limit - all.used_bytes();
  if (!fits && kind != Kind::kHeld) return answer(tenant, all, false);
  const uint64_t added = std::min(bytes, kMaxBytes - all.allocated_bytes);
  all.allocated_bytes += added;
  own.allocated_bytes += added;
  return answer(tenant, all, true);
}

void MemoryLedger::release(uint64_t process, uint64_t bytes, const abi::DeviceUuid& device,
                           Kind kind) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  const auto own_entry = found->second.devices.find(device);
  if (own_entry == found->second.devices.end()) return;
  Account& own = own_entry->second;
  Account& all = tenants_[found->second.tenant].devices[device];
  if (kind != Kind::kOverhead) {
    const uint64_t back = std::min(bytes, own.allocated_bytes);
    own.allocated_bytes -= back;
    all.allocated_bytes -= back;
    return;
  }
  const uint64_t back = std::min(bytes, own.overhead_bytes);
  own.overhead_bytes -= back;
  all.overhead_bytes -= back;
  // Which part goes first, the counted or the other, nobody can tell: never more than there is.
  const uint64_t surplus =
      own.counted_overhead_bytes - std::min(own.counted_overhead_bytes, own.overhead_bytes);
  own.counted_overhead_bytes -= surplus;
  all.counted_overhead_bytes -= surplus;
}

void MemoryLedger::set_limit(uint64_t tenant, uint64_t bytes) {
  const auto found = tenants_.find(tenant);
  if (found != tenants_.end()) found->second.limit_bytes = bytes;
}

MemoryAnswer MemoryLedger::usage_of_tenant(uint64_t tenant) const {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return {};
  MemoryAnswer sum;
  sum.tenant_limit_bytes = found->second.limit_bytes;
  for (const auto& [device, account] : found->second.devices) {
    sum.tenant_used_bytes += account.used_bytes();
    sum.tenant_overhead_bytes += account.overhead_bytes;
  }
  return sum;
}

MemoryAnswer MemoryLedger::usage_on_device(uint64_t tenant, const abi::DeviceUuid& device) const {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return {};
  const auto account = found->second.devices.find(device);
  const bool known = account != found->second.devices.end();
  return answer(found->second, known ? account->second : Account{}, false);
}

std::vector<DeviceUsage> MemoryLedger::devices_of_tenant(uint64_t tenant) const {
  std::vector<DeviceUsage> devices;
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return devices;
  for (const auto& [device, account] : found->second.devices)
    devices.push_back({device, account.used_bytes(), account.overhead_bytes});
  return devices;
}

uint64_t MemoryLedger::used_by_process(uint64_t process) const {
  const auto found = processes_.find(process);
  uint64_t used = 0;
  if (found == processes_.end()) return used;
  for (const auto& [device, account] : found->second.devices) used += account.used_bytes();
  return used;
}

}  // namespace gacer::daemon
