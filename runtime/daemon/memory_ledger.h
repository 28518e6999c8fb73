// SPDX-License-Identifier: Apache-2.0
// Device memory that each tenant holds, over all its processes: reserve before an allocation,
// release after a free; what a process held comes back when it is removed. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>

namespace gacer::daemon {

struct MemoryAnswer {
  bool granted = false;
  uint64_t tenant_used_bytes = 0;
  uint64_t tenant_limit_bytes = 0;  // 0: none
};

class MemoryLedger {
 public:
  // The first process of a tenant decides its limit (0: none). `in_use_bytes` is what the process
  // already has (it attached before to another daemon): counted even when over the limit.
  void add_process(uint64_t process, uint64_t tenant, uint64_t limit_bytes, uint64_t in_use_bytes);
  void remove_process(uint64_t process);

  // An unknown process is never granted anything.
  MemoryAnswer reserve(uint64_t process, uint64_t bytes);
  // At most what the process holds.
  void release(uint64_t process, uint64_t bytes);

  // Zeros for an unknown tenant or process.
  MemoryAnswer usage_of_tenant(uint64_t tenant) const;
  uint64_t used_by_process(uint64_t process) const;

 private:
  struct Tenant {
    uint64_t limit_bytes = 0;
    uint64_t used_bytes = 0;
    uint32_t processes = 0;
  };
  struct Process {
    uint64_t tenant = 0;
    uint64_t used_bytes = 0;
  };
  std::map<uint64_t, Tenant> tenants_;
  std::map<uint64_t, Process> processes_;
};

}  // namespace gacer::daemon
