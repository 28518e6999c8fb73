// SPDX-License-Identifier: Apache-2.0
// One tenant at a time.
//
//   nobody works: all open, shallow
//     └ work ─> owner open, others closed
//         ├ owner idle ─> next in turn, or nobody works
//         └ quantum over and others work ─> all closed until the owner's work drained ─> next
//
// What an owner holds beyond its slice (its drain) is taken off its next ones; who owes a whole
// slice is passed over once.
#include <algorithm>
#include <unordered_map>

#include "runtime/regulator/policy.h"

namespace gacer::regulator {
namespace {

constexpr uint64_t kMinSliceNs = 200 * kNsPerUs;
constexpr uint64_t kRecentNs = 100 * kNsPerMs;
constexpr uint64_t kMaxDebtSlices = 4;

class TimeslicePolicy final : public Policy {
 public:
  void decide(const PolicyInput& input, PolicyOutput& output) override;

 private:
  const TenantView* owner(const PolicyInput& input) const;
  void turn(const PolicyInput& input);
  void hand_over(const PolicyInput& input);
  bool passes(const PolicyInput& input, const TenantView& tenant);
  void settle(const PolicyInput& input);
  GateDecision mode_of(const PolicyInput& input, const TenantView& tenant) const;
  GateDecision gate_of(const PolicyInput& input, const TenantView& tenant) const;
  uint64_t slice_ns(const PolicyInput& input) const;

  uint64_t owner_ = 0;  // tenant id; 0: nobody
  uint64_t last_owner_ = 0;
  uint64_t since_ns_ = 0;
  uint64_t drain_since_ns_ = 0;
  bool draining_ = false;
  std::unordered_map<uint64_t, uint64_t> debt_ns_;  // by tenant id, attached tenants only
};

// The slice before debts: the quantum scaled by the tenant's weight over the mean weight.
uint64_t entitled_ns(const PolicyInput& input, const TenantView& tenant) {
  uint64_t weights = 0;
  for (const TenantView& each : input.tenants) weights += each.weight;
  return input.tuning.quantum_ms * kNsPerMs * tenant.weight * input.tenants.size() / weights;
}

bool other_matches(const PolicyInput& input, uint64_t tenant_id, auto&& condition) {
  return std::ranges::any_of(input.tenants, [&](const TenantView& tenant) {
    return tenant.tenant_id != tenant_id && condition(tenant);
  });
}

bool other_works(const PolicyInput& input, uint64_t tenant_id) {
  return other_matches(input, tenant_id, [](const TenantView& tenant) { return tenant.has_work; });
}

bool other_worked_lately(const PolicyInput& input, uint64_t tenant_id) {
  return other_matches(input, tenant_id, [&](const TenantView& tenant) {
    return tenant.worked_within(input.now_ns, kRecentNs);
  });
}

// The working tenant with the smallest id above `after`, else the smallest of all. Null: nobody
// works.
const TenantView* next_in_turn(const PolicyInput& input, uint64_t after) {
  const TenantView* best = nullptr;
  const auto distance = [&](const TenantView& tenant) { return tenant.tenant_id - after - 1; };
  for (const TenantView& tenant : input.tenants) {
    if (!tenant.has_work) continue;
    if (best == nullptr || distance(tenant) < distance(*best)) best = &tenant;
  }
  return best;
}

// Long enough for every other tenant's turns, paid-back debts included; the turn itself ends the
// wait.
uint64_t turn_wait_ns(const PolicyInput& input) {
  const uint64_t turn_ms = input.tuning.quantum_ms * (1 + kMaxDebtSlices) + input.tuning.drain_ms;
  return std::max(input.tuning.max_wait_ms, turn_ms * input.tenants.size()) * kNsPerMs;
}

const TenantView* TimeslicePolicy::owner(const PolicyInput& input) const {
  const auto found = std::ranges::find(input.tenants, owner_, &TenantView::tenant_id);
  return owner_ == 0 || found == input.tenants.end() ? nullptr : &*found;
}

uint64_t TimeslicePolicy::slice_ns(const PolicyInput& input) const {
  const uint64_t entitled = entitled_ns(input, *owner(input));
  const auto debt = debt_ns_.find(owner_);
  const uint64_t owed = debt == debt_ns_.end() ? 0 : debt->second;
  return owed + kMinSliceNs >= entitled ? kMinSliceNs : entitled - owed;
}

// Books what the owner held; without a competitor nobody is owed anything.
void TimeslicePolicy::settle(const PolicyInput& input) {
  const TenantView* tenant = owner(input);
  if (tenant == nullptr) return;
  const uint64_t entitled = entitled_ns(input, *tenant);
  const uint64_t held = input.now_ns - since_ns_ + debt_ns_[owner_];
  debt_ns_[owner_] = std::min(held > entitled ? held - entitled : 0, entitled * kMaxDebtSlices);
}

// Pays a whole slice of debt with a turn. Ends: each pass lowers a debt.
bool TimeslicePolicy::passes(const PolicyInput& input, const TenantView& tenant) {
  if (!other_works(input, tenant.tenant_id)) return false;
  uint64_t& debt = debt_ns_[tenant.tenant_id];
  const uint64_t slice = std::max<uint64_t>(entitled_ns(input, tenant), 1);
  if (debt < slice) return false;
  debt -= slice;
  return true;
}

void TimeslicePolicy::hand_over(const PolicyInput& input) {
  settle(input);
  if (owner_ != 0) last_owner_ = owner_;
  const TenantView* next = next_in_turn(input, last_owner_);
  while (next != nullptr && passes(input, *next)) next = next_in_turn(input, next->tenant_id);
  owner_ = next == nullptr ? 0 : next->tenant_id;
  since_ns_ = input.now_ns;
  draining_ = false;
}

void TimeslicePolicy::turn(const PolicyInput& input) {
  const TenantView* tenant = owner(input);
  if (tenant == nullptr || !tenant->has_work) return hand_over(input);
  if (!other_works(input, owner_)) {
    draining_ = false;
    since_ns_ = input.now_ns;
    debt_ns_.erase(owner_);
    return;
  }
  if (draining_) {
    const bool too_long = input.now_ns - drain_since_ns_ >= input.tuning.drain_ms * kNsPerMs;
    if (tenant->in_flight_ns == 0 || too_long) hand_over(input);
    return;
  }
  if (input.now_ns - since_ns_ < slice_ns(input)) return;
  draining_ = true;
  drain_since_ns_ = input.now_ns;
}

// A wait may begin under one gate and last into the next, so all carry the same bound.
GateDecision TimeslicePolicy::gate_of(const PolicyInput& input, const TenantView& tenant) const {
  GateDecision gate = mode_of(input, tenant);
  gate.max_wait_ns = turn_wait_ns(input);
  return gate;
}

GateDecision TimeslicePolicy::mode_of(const PolicyInput& input, const TenantView& tenant) const {
  const GateDecision shallow = window(input, input.tuning.window_us * kNsPerUs);
  if (owner_ == 0) return input.tenants.size() == 1 ? ungated(input) : shallow;
  if (tenant.tenant_id != owner_ || draining_) return closed(input, HoldReason::kNotMyQuantum);
  // A shallow queue while somebody may want the next slice: what is queued has to drain before it.
  return other_worked_lately(input, owner_) ? shallow : ungated(input);
}

void TimeslicePolicy::decide(const PolicyInput& input, PolicyOutput& output) {
  std::erase_if(debt_ns_, [&](const auto& debt) {
    return std::ranges::find(input.tenants, debt.first, &TenantView::tenant_id) ==
           input.tenants.end();
  });
  turn(input);
  output.latency_active = any_worked_within(input, TenantClass::kLatency, 0);
  output.gates.clear();
  for (const TenantView& tenant : input.tenants) output.gates.push_back(gate_of(input, tenant));
}

}  // namespace

std::unique_ptr<Policy> make_timeslice_policy() {
  return std::make_unique<TimeslicePolicy>();
}

}  // namespace gacer::regulator
