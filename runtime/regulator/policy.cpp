// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/policy.h"

#include <algorithm>

namespace gacer::regulator {
namespace {

constexpr uint64_t kRecentNs = 100 * kNsPerMs;

constexpr PolicyRow kRows[] = {
#define GACER_POLICY(factory, name, help) {name, help, factory},
#include "runtime/regulator/policies.def"
#undef GACER_POLICY
};

bool attached(const PolicyInput& input, TenantClass tenant_class) {
  return std::ranges::any_of(
      input.tenants, [&](const TenantView& tenant) { return tenant.tenant_class == tenant_class; });
}

bool someone_is_held(const PolicyInput& input, const PolicyOutput& output) {
  for (size_t i = 0; i < input.tenants.size(); ++i) {
    if (input.tenants[i].waiting_threads == 0) continue;
    if (output.gates[i].reason != HoldReason::kNone) return true;  // a full window opens by itself
  }
  return false;
}

}  // namespace

bool TenantView::worked_within(uint64_t now_ns, uint64_t period_ns) const {
  return has_work || (ever_worked && now_ns - last_work_ns <= period_ns);
}

GateDecision ungated(const PolicyInput& input) {
  const bool alone = input.tenants.size() == 1;
  const Tuning& tuning = input.tuning;
  GateDecision gate;
  gate.max_wait_ns = tuning.max_wait_ms * kNsPerMs;
  gate.mark_every =
      static_cast<uint32_t>(alone ? tuning.lone_mark_every : tuning.sparse_mark_every);
  gate.record = !alone || tuning.record_lone != 0;
  return gate;
}

GateDecision window(const PolicyInput& input, uint64_t window_ns) {
  GateDecision gate;
  gate.mode = GateMode::kWindow;
  gate.window_ns = window_ns;
  gate.max_wait_ns = input.tuning.max_wait_ms * kNsPerMs;
  gate.mark_every = 1;
  gate.record = true;
  return gate;
}

GateDecision closed(const PolicyInput& input, HoldReason reason) {
  GateDecision gate = window(input, 0);
  gate.mode = GateMode::kClosed;
  gate.reason = reason;
  return gate;
}

bool any_worked_within(const PolicyInput& input, TenantClass tenant_class, uint64_t period_ns) {
  return std::ranges::any_of(input.tenants, [&](const TenantView& tenant) {
    return tenant.tenant_class == tenant_class && tenant.worked_within(input.now_ns, period_ns);
  });
}

uint64_t poll_gap_ns(const PolicyInput& input, const PolicyOutput& output) {
  const bool contested = attached(input, TenantClass::kLatency) &&
                         any_worked_within(input, TenantClass::kBatch, kRecentNs);
  if (contested || someone_is_held(input, output)) return input.tuning.poll_us * kNsPerUs;
  const bool active = any_worked_within(input, TenantClass::kLatency, kRecentNs) ||
                      any_worked_within(input, TenantClass::kBatch, kRecentNs);
  return active ? input.tuning.active_poll_us * kNsPerUs : input.tuning.idle_poll_ms * kNsPerMs;
}

std::span<const PolicyRow> policy_rows() {
  return kRows;
}

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  for (const PolicyRow& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace gacer::regulator
