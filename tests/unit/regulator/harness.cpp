// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/regulator/harness.h"

#include <algorithm>
#include <stdexcept>

namespace gacer::regulator::test {

Harness::Harness(const std::string& policy) : core(Regulator::create(policy)) {}

ProcessId Harness::batch(const std::string& name, uint32_t weight, int32_t priority) {
  return attach(name, TenantClass::kBatch, weight, priority);
}

ProcessId Harness::attach(const std::string& name, TenantClass tenant_class, uint32_t weight,
                          int32_t priority) {
  TenantConfig config;
  config.name = name;
  config.tenant_class = tenant_class;
  config.weight = weight;
  config.priority = priority;
  const ProcessId process = next_process_++;
  if (!core->attach(process, config, {}, now_ns)) throw std::invalid_argument(name);
  streams_[process] = {};
  return process;
}

void Harness::detach(ProcessId process) {
  core->detach(process, now_ns);
  streams_.erase(process);
  gates_.erase(process);
}

void Harness::complete_all(ProcessId process) {
  streams_[process].completed_cost_ns = streams_[process].submitted_cost_ns;
}

void Harness::set_stream(ProcessId process, uint64_t submitted_ns, uint64_t completed_ns) {
  streams_[process] = {0, submitted_ns, completed_ns};
}

std::vector<ProcessId> Harness::step(uint64_t delta_ns) {
  now_ns += delta_ns;
  for (const auto& [process, stream] : streams_) {
    ProgressEvent progress;
    progress.streams = {stream};
    progress.waiting_threads = waiting_[process];
    core->on_progress(process, progress, now_ns);
  }
  std::vector<ProcessDecision> decisions;
  std::vector<KernelCost> costs;
  core->decide(now_ns, decisions, costs);
  std::vector<ProcessId> changed;
  for (const ProcessDecision& decision : decisions) {
    gates_[decision.process] = decision.gate;
    changed.push_back(decision.process);
  }
  return changed;
}

void Harness::run(uint64_t delta_ns) {
  for (uint64_t done_ns = 0; done_ns < delta_ns; done_ns += 100 * kUs) step(100 * kUs);
}

TenantSnapshot Harness::tenant(const std::string& name) const {
  for (TenantSnapshot& row : core->snapshot().tenants) {
    if (row.config.name == name) return row;
  }
  throw std::out_of_range(name);
}

}  // namespace gacer::regulator::test
