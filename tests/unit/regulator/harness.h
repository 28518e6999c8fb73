// SPDX-License-Identifier: Apache-2.0
// A Regulator on virtual time with the gates it gave out last; tenants are counters that a test
// sets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/regulator/regulator.h"

namespace gacer::regulator::test {

inline constexpr uint64_t kUs = 1'000;
inline constexpr uint64_t kMs = 1'000'000;

class Harness {
 public:
  explicit Harness(const std::string& policy = "priority");

  ProcessId latency(const std::string& name) { return attach(name, TenantClass::kLatency); }
  ProcessId batch(const std::string& name, uint32_t weight = 1, int32_t priority = 0);
  ProcessId attach(const std::string& name, TenantClass tenant_class, uint32_t weight = 1,
                   int32_t priority = 0);
  void detach(ProcessId process);

  // What the process's one stream will report from now on; polls happen in step().
  void submit(ProcessId process, uint64_t cost_ns) {
    streams_[process].submitted_cost_ns += cost_ns;
  }
  void complete_all(ProcessId process);
  void set_waiting(ProcessId process, uint32_t threads) { waiting_[process] = threads; }
  void set_stream(ProcessId process, uint64_t submitted_ns, uint64_t completed_ns);

  // Advances time, polls everybody, decides. Returns the processes whose gate changed.
  std::vector<ProcessId> step(uint64_t delta_ns);
  // The same in steps of 100 us.
  void run(uint64_t delta_ns);

  const GateDecision& gate(ProcessId process) const { return gates_.at(process); }
  bool has_gate(ProcessId process) const { return gates_.contains(process); }
  TenantSnapshot tenant(const std::string& name) const;
  uint64_t wakeup_in_ns() const { return core->next_wakeup_ns(now_ns) - now_ns; }

  std::unique_ptr<Regulator> core;
  uint64_t now_ns = 1'000 * kMs;

 private:
  std::map<ProcessId, GateDecision> gates_;
  std::map<ProcessId, StreamProgress> streams_;
  std::map<ProcessId, uint32_t> waiting_;
  ProcessId next_process_ = 1;
};

}  // namespace gacer::regulator::test
