// SPDX-License-Identifier: Apache-2.0
// Who is attached, and what each process and tenant has in flight, done and waited. Each process's
// account is fed only by its own events. Not thread-safe.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/regulator/cost_estimator.h"
#include "runtime/regulator/policy.h"
#include "runtime/regulator/regulator.h"
#include "runtime/regulator/stream_account.h"

namespace gacer::regulator {

// Cumulative counters of one process as it reported them.
struct Counters {
  uint64_t launches = 0;
  uint64_t waits = 0;
  uint64_t wait_ns = 0;
  uint64_t deadline_releases = 0;
  uint64_t completed_cost_ns = 0;
  uint64_t stale_streams = 0;
  void add(const Counters& other);
};

struct Tenant;

struct Process {
  Process(ProcessId process_id, Tenant& owner, const DeviceShape& device)
      : id(process_id), tenant(owner), estimator(device) {}

  ProcessId id;
  Tenant& tenant;
  CostEstimator estimator;
  std::array<StreamAccount, kMaxStreamSlots> streams;
  std::bitset<kMaxStreamSlots> in_use;
  Counters counters;
  uint32_t waiting_threads = 0;
  bool works = false;  // as of the last refresh()
  bool ever_worked = false;
  uint64_t last_work_ns = 0;
  GateDecision gate;  // the last one given out; mark_every says what the counters mean
  bool gate_given = false;
  uint64_t all_marked_since_ns = UINT64_MAX;  // mark_every is 1 since then
};

struct Tenant {
  uint64_t id = 0;
  TenantConfig config;
  std::vector<Process*> processes;  // never empty
  Counters departed;                // of processes that detached
  uint64_t busy_ns = 0;
  TenantView view;    // as of the last refresh()
  GateDecision gate;  // the tenant's, before it is split among its processes
};

// The newest times at which streams of the device had work; answers "did anything else run?".
class BusyTimes {
 public:
  void note(uint64_t stream, uint64_t now_ns);
  uint64_t others_until(uint64_t stream) const;

 private:
  struct Entry {
    uint64_t stream = UINT64_MAX;
    uint64_t until_ns = 0;
  };
  Entry newest_, second_;  // of two different streams
};

class Ledger {
 public:
  Result<uint64_t> attach(ProcessId process, const TenantConfig& config, const DeviceShape& device);
  void detach(ProcessId process);

  void launched(ProcessId process, const LaunchEvent& launch);
  void progressed(ProcessId process, const ProgressEvent& progress, uint64_t now_ns);

  // Brings the views of all tenants to now_ns; `stale_after_ns` as the knob stale_ms.
  void refresh(uint64_t now_ns, uint64_t stale_after_ns);

  const std::vector<std::unique_ptr<Tenant>>& tenants() const { return tenants_; }
  std::map<ProcessId, Process>& processes() { return processes_; }

 private:
  Tenant& tenant_for(const TenantConfig& config);
  void stream_progressed(Process& process, const StreamProgress& stream, uint64_t now_ns);
  void drop_unused(Process& process, const std::bitset<kMaxStreamSlots>& in_use);
  void refresh_process(Process& process, uint64_t now_ns, uint64_t stale_after_ns);
  void refresh_tenant(Tenant& tenant, uint64_t now_ns);

  std::vector<std::unique_ptr<Tenant>> tenants_;  // by id, ascending
  std::map<ProcessId, Process> processes_;
  BusyTimes busy_times_;
  uint64_t next_tenant_id_ = 1;
  uint64_t refreshed_ns_ = 0;
};

uint64_t in_flight_ns(const Process& process);
Counters counters_of(const Tenant& tenant);

}  // namespace gacer::regulator
