// SPDX-License-Identifier: Apache-2.0
// Device memory that each tenant holds on each device, over all its processes: reserve before an
// allocation, release after a free; what a process held comes back when it is removed.
//
//   limit      one number per tenant, holds for each device by itself; its first process decides
//   used       allocations + counted overhead; what is compared with the limit
//   overhead   estimates for contexts and modules. All of it is shown. It counts while the tenant's
//              counted overhead on the device stays below the limit: above it nothing could be
//              allocated at all
//
// A device is named by its UUID only: ordinals differ from process to process. Sums never wrap.
// Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/abi/control_messages.h"

namespace gacer::daemon {

struct MemoryAnswer {
  bool granted = false;
  uint64_t tenant_used_bytes = 0;
  uint64_t tenant_limit_bytes = 0;  // 0: none
  uint64_t tenant_overhead_bytes = 0;
};

struct DeviceUsage {
  abi::DeviceUuid device{};
  uint64_t used_bytes = 0;
  uint64_t overhead_bytes = 0;
};

class MemoryLedger {
 public:
  using Kind = abi::MemoryKind;

  // The first process of a tenant decides its limit (0: none). `in_use_bytes` is what the process
  // already has on `device` (it attached before to another daemon): counted even when over the
  // limit.
  void add_process(uint64_t process, uint64_t tenant, uint64_t limit_bytes, uint64_t in_use_bytes,
                   const abi::DeviceUuid& device = {});
  void remove_process(uint64_t process);
  // What it holds counts for that tenant from now on. Precondition: such a tenant.
  void move_process(uint64_t process, uint64_t tenant);
  uint64_t tenant_of(uint64_t process) const;  // 0: unknown process

  // An unknown process is never granted anything. kHeld and kOverhead are always granted.
  MemoryAnswer reserve(uint64_t process, uint64_t bytes, const abi::DeviceUuid& device = {},
                       Kind kind = Kind::kAllocation);
  // At most what the process holds.
  void release(uint64_t process, uint64_t bytes, const abi::DeviceUuid& device = {},
               Kind kind = Kind::kAllocation);

  // What is held stays; new reservations are measured against the new limit.
  void set_limit(uint64_t tenant, uint64_t bytes);

  // Zeros for an unknown tenant, process or device. Without a device: sums over all of them.
  MemoryAnswer usage_of_tenant(uint64_t tenant) const;
  MemoryAnswer usage_on_device(uint64_t tenant, const abi::DeviceUuid& device) const;
  std::vector<DeviceUsage> devices_of_tenant(uint64_t tenant) const;
  uint64_t used_by_process(uint64_t process) const;
  bool knows_tenant(uint64_t tenant) const { return tenants_.count(tenant) != 0; }

 private:
  struct Account {
    uint64_t allocated_bytes = 0;
    uint64_t overhead_bytes = 0;
    uint64_t counted_overhead_bytes = 0;  // <= overhead_bytes
    uint64_t used_bytes() const { return allocated_bytes + counted_overhead_bytes; }
  };
  using Accounts = std::map<abi::DeviceUuid, Account>;
  struct Tenant {
    uint64_t limit_bytes = 0;
    uint32_t processes = 0;
    Accounts devices;  // sums over the processes
  };
  struct Process {
    uint64_t tenant = 0;
    Accounts devices;
  };

  static MemoryAnswer answer(const Tenant& tenant, const Account& account, bool granted);
  static void add_overhead(Account& all, Account& own, uint64_t limit_bytes, uint64_t bytes);

  std::map<uint64_t, Tenant> tenants_;
  std::map<uint64_t, Process> processes_;
};

}  // namespace gacer::daemon
