// SPDX-License-Identifier: Apache-2.0
// A policy turns what is known of the tenants into one gate for each. Plain values in and out, time
// passed in; it may keep state of its own between calls. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/regulator/regulator.h"
#include "runtime/regulator/tuning.h"

namespace gacer::regulator {

struct TenantView {
  uint64_t tenant_id = 0;
  TenantClass tenant_class = TenantClass::kBatch;
  uint32_t weight = 1;
  int32_t priority = 0;
  uint64_t in_flight_ns = 0;
  uint32_t waiting_threads = 0;
  bool has_work = false;  // in flight, waiting, or its counters moved since the last decision
  bool ever_worked = false;
  uint64_t last_work_ns = 0;  // newest time at which has_work was true

  bool worked_within(uint64_t now_ns, uint64_t period_ns) const;
};

struct PolicyInput {
  uint64_t now_ns = 0;
  std::span<const TenantView> tenants;
  const Tuning& tuning;
};

struct PolicyOutput {
  std::vector<GateDecision> gates;  // one per tenant, in input order
  bool latency_active = false;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Postcondition: output.gates.size() == input.tenants.size(); max_wait_ns > 0 in each gate.
  virtual void decide(const PolicyInput& input, PolicyOutput& output) = 0;
};

// What several policies need.
GateDecision ungated(const PolicyInput& input);
GateDecision closed(const PolicyInput& input, HoldReason reason);
GateDecision window(const PolicyInput& input, uint64_t window_ns);
bool any_worked_within(const PolicyInput& input, TenantClass tenant_class, uint64_t period_ns);

// How long the caller may sleep before it polls again.
uint64_t poll_gap_ns(const PolicyInput& input, const PolicyOutput& output);

struct PolicyRow {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Policy> (*make)();
};
std::span<const PolicyRow> policy_rows();

#define GACER_POLICY(factory, name, help) std::unique_ptr<Policy> factory();
#include "runtime/regulator/policies.def"
#undef GACER_POLICY

}  // namespace gacer::regulator
