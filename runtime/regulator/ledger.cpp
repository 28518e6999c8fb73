// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/ledger.h"

#include <algorithm>
#include <cerrno>
#include <string>

namespace gacer::regulator {
namespace {

constexpr uint32_t kMaxWeight = 1000;

template <typename Visit>
void for_each_stream(Process& process, Visit&& visit) {
  for (uint32_t slot = 0; slot < kMaxStreamSlots; ++slot) {
    if (process.in_use[slot]) visit(process.streams[slot]);
  }
}

Status check(const TenantConfig& config) {
  if (config.weight >= 1 && config.weight <= kMaxWeight) return {};
  return Error{EINVAL, "attach: tenant '" + config.name + "': weight " +
                           std::to_string(config.weight) + " is outside 1..1000"};
}

// Unique per stream of the device: process ids are never reused, slots are few.
uint64_t stream_key(const Process& process, uint32_t slot) {
  return process.id * kMaxStreamSlots + slot;
}

}  // namespace

void Counters::add(const Counters& other) {
  launches += other.launches;
  waits += other.waits;
  wait_ns += other.wait_ns;
  deadline_releases += other.deadline_releases;
  completed_cost_ns += other.completed_cost_ns;
  stale_streams += other.stale_streams;
}

void BusyTimes::note(uint64_t stream, uint64_t now_ns) {
  if (stream != newest_.stream) second_ = newest_;
  newest_ = {stream, now_ns};
}

uint64_t BusyTimes::others_until(uint64_t stream) const {
  return stream == newest_.stream ? second_.until_ns : newest_.until_ns;
}

Result<uint64_t> Ledger::attach(ProcessId process, const TenantConfig& config,
                                const DeviceShape& device) {
  if (Status valid = check(config); !valid) return valid.error();
  if (processes_.contains(process)) {
    return Error{EEXIST, "attach: process number " + std::to_string(process) +
                             " is attached already; numbers are never reused"};
  }
  Tenant& tenant = tenant_for(config);
  const auto entry = processes_.try_emplace(process, process, tenant, device).first;
  tenant.processes.push_back(&entry->second);
  return tenant.id;
}

Tenant& Ledger::tenant_for(const TenantConfig& config) {
  const auto found = std::ranges::find_if(tenants_, [&](const auto& tenant) {
    return tenant->config.name == config.name && tenant->config.uid == config.uid;
  });
  if (found != tenants_.end()) return **found;
  tenants_.push_back(std::make_unique<Tenant>());
  Tenant& tenant = *tenants_.back();
  tenant.id = next_tenant_id_++;
  tenant.config = config;
  return tenant;
}

void Ledger::detach(ProcessId process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  Tenant& tenant = found->second.tenant;
  tenant.departed.add(found->second.counters);
  std::erase(tenant.processes, &found->second);
  processes_.erase(found);
  std::erase_if(tenants_, [](const auto& each) { return each->processes.empty(); });
}

void Ledger::launched(ProcessId process, const LaunchEvent& launch) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || launch.stream_slot >= kMaxStreamSlots) return;
  found->second.estimator.launched(launch);
  found->second.in_use.set(launch.stream_slot);
  found->second.streams[launch.stream_slot].launched(launch.stream_cost_ns);
}

void Ledger::progressed(ProcessId process, const ProgressEvent& progress, uint64_t now_ns) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  Process& account = found->second;
  std::bitset<kMaxStreamSlots> in_use;
  for (const StreamProgress& stream : progress.streams) {
    if (stream.slot >= kMaxStreamSlots) continue;
    in_use.set(stream.slot);
    stream_progressed(account, stream, now_ns);
  }
  drop_unused(account, in_use);
  account.counters.launches = progress.launches;
  account.counters.waits = progress.waits;
  account.counters.wait_ns = progress.wait_ns;
  account.counters.deadline_releases = progress.deadline_releases;
  account.waiting_threads = progress.waiting_threads;
}

void Ledger::stream_progressed(Process& process, const StreamProgress& stream, uint64_t now_ns) {
  StreamAccount& account = process.streams[stream.slot];
  const uint64_t before_ns = account.completed_ns();
  const bool was_busy = account.in_flight_ns() > 0;
  const bool marked = process.gate.mark_every != 0;
  const auto change =
      account.progressed(stream.submitted_cost_ns, stream.completed_cost_ns, marked, now_ns);
  const bool restarted = change == StreamAccount::Change::kRestarted;
  if (restarted) process.estimator.stream_gone(stream.slot);
  const uint64_t from_ns = restarted ? 0 : std::min(before_ns, account.completed_ns());
  process.counters.completed_cost_ns += account.completed_ns() - from_ns;
  if (was_busy || change != StreamAccount::Change::kNone) {
    busy_times_.note(stream_key(process, stream.slot), now_ns);
  }
  const uint64_t others_ns = busy_times_.others_until(stream_key(process, stream.slot));
  // The tenant's own word: what unmarked launches count as done says nothing about when they ended.
  const uint64_t completed_ns = std::min(stream.completed_cost_ns, stream.submitted_cost_ns);
  process.estimator.progressed(stream.slot,
                               {completed_ns, now_ns, others_ns, process.all_marked_since_ns});
}

void Ledger::drop_unused(Process& process, const std::bitset<kMaxStreamSlots>& in_use) {
  for (uint32_t slot = 0; slot < kMaxStreamSlots; ++slot) {
    if (!process.in_use[slot] || in_use[slot]) continue;
    process.streams[slot] = {};
    process.estimator.stream_gone(slot);
  }
  process.in_use = in_use;
}

void Ledger::refresh(uint64_t now_ns, uint64_t stale_after_ns) {
  for (auto& [id, process] : processes_) refresh_process(process, now_ns, stale_after_ns);
  for (const auto& tenant : tenants_) refresh_tenant(*tenant, now_ns);
  refreshed_ns_ = now_ns;
}

void Ledger::refresh_process(Process& process, uint64_t now_ns, uint64_t stale_after_ns) {
  bool works = process.waiting_threads > 0;
  for_each_stream(process, [&](StreamAccount& stream) {
    if (stream.check_stale(now_ns, stale_after_ns)) ++process.counters.stale_streams;
    works |= stream.take_moved() || stream.in_flight_ns() > 0;
  });
  process.works = works;
  if (!works) return;
  process.ever_worked = true;
  process.last_work_ns = now_ns;
}

void Ledger::refresh_tenant(Tenant& tenant, uint64_t now_ns) {
  TenantView view;
  view.tenant_id = tenant.id;
  view.tenant_class = tenant.config.tenant_class;
  view.weight = tenant.config.weight;
  view.priority = tenant.config.priority;
  for (const Process* process : tenant.processes) {
    view.in_flight_ns += in_flight_ns(*process);
    view.waiting_threads += process->waiting_threads;
    view.has_work |= process->works;
    view.ever_worked |= process->ever_worked;
    view.last_work_ns = std::max(view.last_work_ns, process->last_work_ns);
  }
  tenant.view = view;
  if (view.has_work && refreshed_ns_ != 0) tenant.busy_ns += now_ns - refreshed_ns_;
}

uint64_t in_flight_ns(const Process& process) {
  uint64_t sum = 0;
  for (uint32_t slot = 0; slot < kMaxStreamSlots; ++slot) {
    if (process.in_use[slot]) sum += process.streams[slot].in_flight_ns();
  }
  return sum;
}

Counters counters_of(const Tenant& tenant) {
  Counters sum = tenant.departed;
  for (const Process* process : tenant.processes) sum.add(process->counters);
  return sum;
}

}  // namespace gacer::regulator
