// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/regulator.h"

#include <algorithm>
#include <cerrno>

#include "runtime/regulator/ledger.h"
#include "runtime/regulator/policy.h"
#include "runtime/regulator/tuning.h"

namespace gacer::regulator {
namespace {

constexpr uint64_t kSplitMemoryNs = 100 * kNsPerMs;
constexpr uint64_t kMinWindowNs = 1;

const PolicyRow* find_policy(std::string_view name) {
  const auto rows = policy_rows();
  const auto found = std::ranges::find(rows, name, &PolicyRow::name);
  return found == rows.end() ? nullptr : &*found;
}

Error unknown_policy(std::string_view name) {
  std::string message = "policy: no policy '" + std::string(name) + "'; known:";
  for (const PolicyRow& row : policy_rows()) message.append(" ").append(row.name);
  return {EINVAL, message};
}

// The processes of a tenant that share its window: those that worked lately, at least `self`.
uint64_t sharers(const Tenant& tenant, const Process& self, uint64_t now_ns) {
  return static_cast<uint64_t>(std::ranges::count_if(tenant.processes, [&](const Process* each) {
    const bool lately = each->ever_worked && now_ns - each->last_work_ns <= kSplitMemoryNs;
    return each == &self || lately;
  }));
}

GateDecision split(const Tenant& tenant, const Process& process, uint64_t now_ns) {
  GateDecision gate = tenant.gate;
  if (gate.mode != GateMode::kWindow) return gate;
  gate.window_ns = std::max(kMinWindowNs, gate.window_ns / sharers(tenant, process, now_ns));
  return gate;
}

TenantSnapshot snapshot_of(const Tenant& tenant) {
  const Counters counters = counters_of(tenant);
  TenantSnapshot row;
  row.tenant_id = tenant.id;
  row.config = tenant.config;
  for (const Process* process : tenant.processes) row.processes.push_back(process->id);
  row.launches = counters.launches;
  row.waits = counters.waits;
  row.wait_ns = counters.wait_ns;
  row.deadline_releases = counters.deadline_releases;
  row.in_flight_ns = tenant.view.in_flight_ns;
  row.completed_cost_ns = counters.completed_cost_ns;
  row.busy_ns = tenant.busy_ns;
  row.stale_streams = counters.stale_streams;
  row.active = tenant.view.has_work;
  row.gate = tenant.gate;
  return row;
}

class Core final : public Regulator {
 public:
  explicit Core(const PolicyRow& row) : row_(&row), policy_(row.make()) {}

  Result<uint64_t> attach(ProcessId process, const TenantConfig& config, const DeviceShape& device,
                          uint64_t now_ns) override;
  void detach(ProcessId process, uint64_t now_ns) override;
  void on_launch(ProcessId process, const LaunchEvent& launch) override;
  void on_progress(ProcessId process, const ProgressEvent& progress, uint64_t now_ns) override;
  void decide(uint64_t now_ns, std::vector<ProcessDecision>& gates,
              std::vector<KernelCost>& costs) override;
  uint64_t next_wakeup_ns(uint64_t now_ns) const override;
  Status set_policy(std::string_view name) override;
  Status tune(std::string_view key, std::string_view value) override;
  std::vector<Knob> knobs() const override { return describe(tuning_); }
  Snapshot snapshot() const override;
  uint64_t generation() const override { return generation_; }
  bool latency_active() const override { return output_.latency_active; }
  uint32_t policy_index() const override;

 private:
  uint64_t step_to(uint64_t now_ns) { return now_ns_ = std::max(now_ns_, now_ns); }
  void run_policy();
  void give(Process& process, std::vector<ProcessDecision>& gates);

  const PolicyRow* row_;
  std::unique_ptr<Policy> policy_;
  Tuning tuning_;
  Ledger ledger_;
  PolicyOutput output_;
  std::vector<TenantView> views_;
  uint64_t now_ns_ = 0;
  uint64_t generation_ = 1;
  uint64_t wakeup_ns_ = 0;  // 0: at once, something changed since the last decision
};

Result<uint64_t> Core::attach(ProcessId process, const TenantConfig& config,
                              const DeviceShape& device, uint64_t now_ns) {
  step_to(now_ns);
  wakeup_ns_ = 0;
  return ledger_.attach(process, config, device);
}

void Core::detach(ProcessId process, uint64_t now_ns) {
  step_to(now_ns);
  wakeup_ns_ = 0;
  ledger_.detach(process);
}

void Core::on_launch(ProcessId process, const LaunchEvent& launch) {
  ledger_.launched(process, launch);
}

void Core::on_progress(ProcessId process, const ProgressEvent& progress, uint64_t now_ns) {
  ledger_.progressed(process, progress, step_to(now_ns));
}

void Core::decide(uint64_t now_ns, std::vector<ProcessDecision>& gates,
                  std::vector<KernelCost>& costs) {
  step_to(now_ns);
  ledger_.refresh(now_ns_, tuning_.stale_ms * kNsPerMs);
  run_policy();
  for (auto& [id, process] : ledger_.processes()) {
    give(process, gates);
    process.estimator.drain_costs(id, tuning_.cost_step_percent, costs);
  }
}

void Core::run_policy() {
  views_.clear();
  for (const auto& tenant : ledger_.tenants()) views_.push_back(tenant->view);
  const PolicyInput input{now_ns_, views_, tuning_};
  policy_->decide(input, output_);
  for (size_t i = 0; i < views_.size(); ++i) ledger_.tenants()[i]->gate = output_.gates[i];
  wakeup_ns_ = now_ns_ + poll_gap_ns(input, output_);
}

void Core::give(Process& process, std::vector<ProcessDecision>& gates) {
  const GateDecision gate = split(process.tenant, process, now_ns_);
  if (process.gate_given && gate == process.gate) return;
  if (gate.mark_every != 1) process.all_marked_since_ns = UINT64_MAX;
  if (gate.mark_every == 1 && process.gate.mark_every != 1) process.all_marked_since_ns = now_ns_;
  process.gate = gate;
  process.gate_given = true;
  gates.push_back({process.id, gate});
}

uint64_t Core::next_wakeup_ns(uint64_t now_ns) const {
  return std::max({wakeup_ns_, now_ns_, now_ns});
}

Status Core::set_policy(std::string_view name) {
  const PolicyRow* row = find_policy(name);
  if (row == nullptr) return unknown_policy(name);
  if (row == row_) return {};
  row_ = row;
  policy_ = row->make();
  ++generation_;
  wakeup_ns_ = 0;
  return {};
}

Status Core::tune(std::string_view key, std::string_view value) {
  Tuning changed = tuning_;
  if (Status set = set_knob(changed, key, value); !set) return set;
  if (changed == tuning_) return {};
  tuning_ = changed;
  ++generation_;
  wakeup_ns_ = 0;
  return {};
}

Snapshot Core::snapshot() const {
  Snapshot all;
  all.policy = row_->name;
  all.generation = generation_;
  all.latency_active = output_.latency_active;
  for (const auto& tenant : ledger_.tenants()) all.tenants.push_back(snapshot_of(*tenant));
  return all;
}

uint32_t Core::policy_index() const {
  return static_cast<uint32_t>(row_ - policy_rows().data());
}

}  // namespace

std::unique_ptr<Regulator> Regulator::create(std::string_view policy_name) {
  const PolicyRow* row = find_policy(policy_name);
  return row == nullptr ? nullptr : std::make_unique<Core>(*row);
}

}  // namespace gacer::regulator
