// SPDX-License-Identifier: Apache-2.0
// All attached processes, the regulator core and the memory ledger: what the daemon does apart from
// sockets. Time is passed in. Not thread-safe.
//
//   tick: rings + progress words -> regulator -> gate words, cost tables, board
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/daemon/hello_check.h"
#include "runtime/daemon/memory_ledger.h"
#include "runtime/daemon/tenant_process.h"
#include "runtime/daemon/unmanaged_list.h"
#include "runtime/regulator/regulator.h"

namespace gacer::daemon {

class TenantTable {
 public:
  static Result<std::unique_ptr<TenantTable>> create(std::unique_ptr<regulator::Regulator> core);

  // The new process; it belongs to the table and lives until detach().
  Result<TenantProcess*> attach(const AttachRequest& request, uid_t uid, pid_t pid,
                                uint64_t now_ns);
  // `lives_on`: the process has only lost its socket. What it holds stays charged until ended(), or
  // until it attaches again and says itself what it holds.
  void detach(uint64_t process_id, uint64_t now_ns, bool lives_on = false);
  void ended(uint64_t process_id);
  // Tells every process to pass through. The table is of no use afterwards.
  void detach_all(uint64_t now_ns);

  MemoryAnswer reserve_memory(uint64_t process_id, const abi::DeviceUuid& device, uint64_t bytes,
                              abi::MemoryKind kind);
  void release_memory(uint64_t process_id, const abi::DeviceUuid& device, uint64_t bytes,
                      abi::MemoryKind kind);
  // granted: such a tenant exists.
  MemoryAnswer query_memory(std::string_view tenant, uid_t uid,
                            const abi::DeviceUuid& device) const;
  // From now on, for all processes of the tenant and each device by itself; 0: none. ENOENT: no
  // such tenant.
  Status set_memory_limit(std::string_view tenant, uid_t uid, uint64_t bytes);

  // One round.
  void tick(uint64_t now_ns);
  // When the next round is due; UINT64_MAX while nobody is attached.
  uint64_t next_tick_ns() const { return processes_.empty() ? UINT64_MAX : next_tick_ns_; }

  Status set_policy(std::string_view name);
  Status tune(std::string_view key, std::string_view value);

  int board_fd() const { return board_memory_.fd(); }
  const regulator::Regulator& core() const { return *core_; }
  const MemoryLedger& ledger() const { return ledger_; }
  const TenantProcess* find(uint64_t process_id) const;
  // Counters of a tenant's processes, those that have ended included.
  ProgressCounters counters_of(uint64_t tenant_id) const;
  UnmanagedList& unmanaged() { return unmanaged_; }
  // As of the last read_coverage(), processes that have ended included.
  void read_coverage();
  CoverageTotals coverage_of(uint64_t tenant_id) const;
  const CoverageTotals& coverage_of_ended_tenants() const { return ended_coverage_; }

 private:
  struct Tenant {
    uint32_t processes = 0;
    ProgressCounters ended;  // of processes that are gone
    CoverageTotals ended_coverage;
  };
  struct Lingering {  // detached, alive, and charged
    pid_t pid;
    std::string tenant;
    uid_t uid;
  };

  TenantTable(std::unique_ptr<regulator::Regulator> core, shm::MemorySegment board);
  Result<std::unique_ptr<TenantProcess>> make_process(uint64_t process_id, uint64_t tenant_id,
                                                      const AttachRequest& request, pid_t pid);
  void receive(TenantProcess& process, regulator::TenantClass tenant_class, uint64_t now_ns);
  void tick_soon(uint64_t now_ns);
  abi::Board& board() { return *static_cast<abi::Board*>(board_memory_.data()); }
  bool read_tenants(uint64_t now_ns);
  void linger(const ProcessIdentity& identity);
  void settle_lingering(const regulator::TenantConfig& config, uint64_t tenant_id, pid_t pid);
  uint64_t tenant_named(std::string_view name, uid_t uid) const;
  void write_decisions(uint64_t now_ns);
  void write_board(uint64_t now_ns);
  void new_generation();

  std::unique_ptr<regulator::Regulator> core_;
  shm::MemorySegment board_memory_;
  MemoryLedger ledger_;
  std::map<uint64_t, std::unique_ptr<TenantProcess>> processes_;
  std::map<uint64_t, Tenant> tenants_;  // those with processes
  UnmanagedList unmanaged_;
  CoverageTotals ended_coverage_;            // of tenants that are gone
  std::map<uint64_t, Lingering> lingering_;  // by process id
  uint64_t next_process_id_ = 1;
  uint64_t next_tick_ns_ = 0;
  // Kept between ticks so that a tick does not allocate.
  std::vector<regulator::LaunchEvent> launches_;
  std::vector<regulator::ProcessDecision> gates_;
  std::vector<regulator::KernelCost> costs_;
};

}  // namespace gacer::daemon
