// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/status_json.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "runtime/abi/version.h"
#include "runtime/daemon/coverage_json.h"
#include "runtime/daemon/enforcement_json.h"

namespace gacer::daemon {
namespace {

using nlohmann::json;
using regulator::GateMode;
using regulator::TenantSnapshot;

constexpr double kNsPerMs = 1e6;

double to_ms(uint64_t ns) {
  return static_cast<double>(ns) / kNsPerMs;
}

constexpr const char* kReasonTexts[] = {
#define GACER_TEXT(name, value, text, help) text,
    GACER_REASONS(GACER_TEXT)
#undef GACER_TEXT
};

const char* mode_text(GateMode mode) {
  switch (mode) {
    case GateMode::kUngated:
      return "ungated";
    case GateMode::kWindow:
      return "window";
    case GateMode::kClosed:
      return "closed";
  }
  return "unknown";
}

json waits_by_reason(const ProgressCounters& counters) {
  json by_reason = json::object();
  for (size_t i = 1; i < counters.wait_ns_by_reason.size(); ++i)
    by_reason[kReasonTexts[i]] = to_ms(counters.wait_ns_by_reason[i]);
  return by_reason;
}

json gate_json(const regulator::GateDecision& gate) {
  return {{"mode", mode_text(gate.mode)},
          {"reason", kReasonTexts[static_cast<size_t>(gate.reason)]},
          {"window_us", gate.window_ns / 1000},
          {"max_wait_ms", to_ms(gate.max_wait_ns)},
          {"mark_every", gate.mark_every},
          {"record", gate.record},
          {"stream_priority_rank", gate.stream_priority_rank}};
}

json process_json(const TenantTable& table, const TenantProcess& process) {
  const ProcessIdentity& identity = process.identity();
  return {{"id", identity.process_id},
          {"pid", identity.pid},
          {"start_time_ticks", identity.start_time_ticks},
          {"executable", identity.executable},
          {"launches", process.counters().launches},
          {"in_flight_ms", to_ms(process.in_flight_ns())},
          {"memory_used_bytes", table.ledger().used_by_process(identity.process_id)},
          {"coverage", coverage_json(process.coverage())},
          {"forged_values", process.forged_values()},
          {"skipped_records", process.skipped_records()}};
}

void add_config(json& tenant, const regulator::TenantConfig& config) {
  tenant["name"] = config.name;
  tenant["uid"] = config.uid;
  tenant["class"] = config.tenant_class == regulator::TenantClass::kLatency ? "latency" : "batch";
  tenant["weight"] = config.weight;
  tenant["priority"] = config.priority;
}

void add_counters(json& tenant, const ProgressCounters& counters) {
  tenant["launches"] = counters.launches;
  tenant["waits"] = counters.waits;
  tenant["wait_ms"] = to_ms(counters.wait_ns);
  tenant["wait_ms_by_reason"] = waits_by_reason(counters);
  tenant["deadline_releases"] = counters.deadline_releases;
  tenant["dropped_records"] = counters.dropped_records;
  tenant["unregulated"] = counters.unregulated;
}

std::string uuid_text(const abi::DeviceUuid& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

void add_memory(json& tenant, const TenantTable& table, uint64_t tenant_id) {
  const MemoryAnswer memory = table.ledger().usage_of_tenant(tenant_id);
  tenant["memory_used_bytes"] = memory.tenant_used_bytes;
  tenant["memory_limit_bytes"] = memory.tenant_limit_bytes;
  tenant["memory_overhead_bytes"] = memory.tenant_overhead_bytes;
  tenant["devices"] = json::array();
  for (const DeviceUsage& device : table.ledger().devices_of_tenant(tenant_id))
    tenant["devices"].push_back({{"uuid", uuid_text(device.device)},
                                 {"memory_used_bytes", device.used_bytes},
                                 {"memory_overhead_bytes", device.overhead_bytes}});
}

json tenant_json(const TenantTable& table, const regulator::Snapshot& all,
                 const TenantSnapshot& state, bool with_processes) {
  json tenant;
  tenant["id"] = state.tenant_id;
  add_config(tenant, state.config);
  add_counters(tenant, table.counters_of(state.tenant_id));
  tenant["active"] = state.active;
  tenant["in_flight_ms"] = to_ms(state.in_flight_ns);
  tenant["completed_ms"] = to_ms(state.completed_cost_ns);
  tenant["busy_ms"] = to_ms(state.busy_ns);
  tenant["stale_streams"] = state.stale_streams;
  tenant["gate"] = gate_json(state.gate);
  const CoverageTotals coverage = table.coverage_of(state.tenant_id);
  tenant["coverage"] = coverage_json(coverage);
  tenant["enforcement"] =
      enforcement_json(all, state, table.ledger().usage_of_tenant(state.tenant_id), coverage);
  add_memory(tenant, table, state.tenant_id);
  json pids = json::array();
  json processes = json::array();
  for (const uint64_t id : state.processes) {
    const TenantProcess* process = table.find(id);
    if (process == nullptr) continue;
    pids.push_back(process->identity().pid);
    if (with_processes) processes.push_back(process_json(table, *process));
  }
  if (!with_processes) return tenant;
  tenant["pids"] = std::move(pids);
  tenant["processes"] = std::move(processes);
  return tenant;
}

json knobs_json(const TenantTable& table) {
  json knobs = json::array();
  for (const auto& knob : table.core().knobs())
    knobs.push_back({{"key", knob.key},
                     {"value", knob.value},
                     {"unit", knob.unit},
                     {"range", knob.range},
                     {"help", knob.help}});
  return knobs;
}

json unmanaged_json(TenantTable& table) {
  json rows = json::array();
  for (const UnmanagedProcess& process : table.unmanaged().entries())
    rows.push_back(
        {{"pid", process.pid}, {"executable", process.executable}, {"tenant", process.tenant}});
  return rows;
}

std::string render(TenantTable& table, const DaemonFacts& facts, bool with_processes) {
  const regulator::Snapshot state = table.core().snapshot();
  json document;
  document["protocol_version"] = abi::kAbiVersion;
  document["pid"] = getpid();
  document["socket"] = facts.socket_path;
  document["uptime_ms"] = to_ms(facts.uptime_ns);
  document["policy"] = state.policy;
  document["policies"] = regulator::policy_names();
  document["generation"] = state.generation;
  document["latency_active"] = state.latency_active;
  document["knobs"] = knobs_json(table);
  document["coverage_of_ended_tenants"] = coverage_json(table.coverage_of_ended_tenants());
  document["unmanaged"] = unmanaged_json(table);
  document["truncated"] = !with_processes;
  document["tenants"] = json::array();
  for (const TenantSnapshot& tenant : state.tenants)
    document["tenants"].push_back(tenant_json(table, state, tenant, with_processes));
  // Paths may hold any bytes: replace instead of throwing.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<std::string> status_json(TenantTable& table, const DaemonFacts& facts, size_t max_bytes) {
  for (const bool with_processes : {true, false}) {
    std::string text = render(table, facts, with_processes);
    if (text.size() <= max_bytes) return text;
  }
  return Error{E2BIG, "status of so many tenants does not fit into one reply"};
}

}  // namespace gacer::daemon
