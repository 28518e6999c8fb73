// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/memory_ledger.h"

#include <algorithm>

namespace gacer::daemon {
namespace {

// Sums of what tenants claim must not wrap.
constexpr uint64_t kMaxBytes = uint64_t{1} << 60;

}  // namespace

void MemoryLedger::add_process(uint64_t process, uint64_t tenant, uint64_t limit_bytes,
                               uint64_t in_use_bytes) {
  const auto [entry, first] = tenants_.try_emplace(tenant);
  if (first) entry->second.limit_bytes = limit_bytes;
  const uint64_t used = std::min(in_use_bytes, kMaxBytes - entry->second.used_bytes);
  entry->second.used_bytes += used;
  ++entry->second.processes;
  processes_[process] = Process{tenant, used};
}

void MemoryLedger::remove_process(uint64_t process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  const auto tenant = tenants_.find(found->second.tenant);
  tenant->second.used_bytes -= found->second.used_bytes;
  if (--tenant->second.processes == 0) tenants_.erase(tenant);
  processes_.erase(found);
}

MemoryAnswer MemoryLedger::reserve(uint64_t process, uint64_t bytes) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return {};
  Tenant& tenant = tenants_[found->second.tenant];
  const uint64_t limit = tenant.limit_bytes == 0 ? kMaxBytes : tenant.limit_bytes;
  // A re-attached tenant may hold more than its limit: no subtraction before the comparison.
  const bool granted = tenant.used_bytes <= limit && bytes <= limit - tenant.used_bytes;
  if (granted) {
    tenant.used_bytes += bytes;
    found->second.used_bytes += bytes;
  }
  return MemoryAnswer{granted, tenant.used_bytes, tenant.limit_bytes};
}

void MemoryLedger::release(uint64_t process, uint64_t bytes) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  const uint64_t back = std::min(bytes, found->second.used_bytes);
  found->second.used_bytes -= back;
  tenants_[found->second.tenant].used_bytes -= back;
}

MemoryAnswer MemoryLedger::usage_of_tenant(uint64_t tenant) const {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return {};
  return MemoryAnswer{false, found->second.used_bytes, found->second.limit_bytes};
}

uint64_t MemoryLedger::used_by_process(uint64_t process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 0 : found->second.used_bytes;
}

}  // namespace gacer::daemon
