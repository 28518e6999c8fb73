// SPDX-License-Identifier: Apache-2.0
// Latency tenants go at once. Batch tenants share a window of SM-time in flight, small enough to
// drain quickly, and are held while a latency tenant works.
//
//   latency began to work    -> batch keeps its window for the grace time
//   latency works            -> batch closed (or the overlap window)
//   latency quiet, lately not -> batch in its window
//   latency quiet for long    -> a lone batch tenant ungated, several in windows
#include <algorithm>
#include <bit>

#include "runtime/regulator/policy.h"

namespace gacer::regulator {
namespace {

constexpr uint64_t kMinWindowNs = 10 * kNsPerUs;
constexpr int32_t kMaxPriorityShift = 8;

class PriorityPolicy final : public Policy {
 public:
  void decide(const PolicyInput& input, PolicyOutput& output) override;

 private:
  bool in_grace(const PolicyInput& input, bool latency_works);

  bool latency_worked_ = false;    // at the last decision
  uint64_t latency_since_ns_ = 0;  // when it began, while it works
};

struct Situation {
  bool latency_works = false;   // now or within the linger time
  bool grace = false;           // it works, but not yet for longer than the grace time
  bool batch_held = false;      // the above, or within the reopen time
  bool latency_recent = false;  // within the idle-open time
  bool batch_attached = false;
  bool latency_attached = false;
};

Situation assess(const PolicyInput& input) {
  const Tuning& tuning = input.tuning;
  const uint64_t linger_ns = tuning.latency_linger_us * kNsPerUs;
  const uint64_t reopen_ns = linger_ns + tuning.reopen_us * kNsPerUs;
  const uint64_t recent_ns = std::max(reopen_ns, tuning.idle_open_ms * kNsPerMs);
  Situation now;
  now.latency_works = any_worked_within(input, TenantClass::kLatency, linger_ns);
  now.batch_held = any_worked_within(input, TenantClass::kLatency, reopen_ns);
  now.latency_recent = any_worked_within(input, TenantClass::kLatency, recent_ns);
  for (const TenantView& tenant : input.tenants) {
    const bool batch = tenant.tenant_class == TenantClass::kBatch;
    (batch ? now.batch_attached : now.latency_attached) = true;
  }
  return now;
}

GateDecision latency_gate(const PolicyInput& input, const Situation& now) {
  GateDecision gate = ungated(input);
  if (now.batch_attached) gate.mark_every = static_cast<uint32_t>(input.tuning.latency_mark_every);
  gate.stream_priority_rank = 1;
  return gate;
}

// Competes for the batch class's window: asked for itself, or worked lately.
bool competes(const PolicyInput& input, const TenantView& tenant) {
  return tenant.tenant_class == TenantClass::kBatch &&
         tenant.worked_within(input.now_ns, input.tuning.idle_open_ms * kNsPerMs);
}

// Each step of priority doubles the weight.
uint64_t class_weight(const TenantView& tenant, int32_t lowest_priority) {
  const int64_t steps = int64_t{tenant.priority} - lowest_priority;
  return uint64_t{tenant.weight} << std::min<int64_t>(steps, kMaxPriorityShift);
}

struct BatchClass {
  uint64_t weights = 0;
  uint64_t tenants = 0;
  int32_t lowest_priority = INT32_MAX;
};

// The competing batch tenants, `self` among them whether it works or not.
BatchClass batch_class(const PolicyInput& input, const TenantView& self) {
  BatchClass batch;
  const auto counts = [&](const TenantView& tenant) {
    return &tenant == &self || competes(input, tenant);
  };
  for (const TenantView& tenant : input.tenants) {
    if (counts(tenant)) batch.lowest_priority = std::min(batch.lowest_priority, tenant.priority);
  }
  for (const TenantView& tenant : input.tenants) {
    if (!counts(tenant)) continue;
    batch.weights += class_weight(tenant, batch.lowest_priority);
    ++batch.tenants;
  }
  return batch;
}

uint64_t share_ns(const TenantView& tenant, const BatchClass& batch, uint64_t total_us) {
  const uint64_t weight = class_weight(tenant, batch.lowest_priority);
  return std::max(kMinWindowNs, total_us * kNsPerUs * weight / batch.weights);
}

GateDecision held_gate(const PolicyInput& input, const TenantView& tenant,
                       const BatchClass& batch) {
  GateDecision gate = closed(input, HoldReason::kLatencyActive);
  if (input.tuning.latency_overlap_us == 0) return gate;
  gate.mode = GateMode::kWindow;
  gate.window_ns = share_ns(tenant, batch, input.tuning.latency_overlap_us);
  return gate;
}

GateDecision batch_gate(const PolicyInput& input, const TenantView& tenant, const Situation& now) {
  const BatchClass batch = batch_class(input, tenant);
  if (now.batch_held && !now.grace) return held_gate(input, tenant, batch);
  // One that starts from rest has to show its work first: else it and a latency tenant that start
  // together would meet with a deep queue.
  const bool proven = !now.latency_attached || competes(input, tenant);
  if (!now.latency_recent && batch.tenants == 1 && proven) return ungated(input);
  const uint64_t windows = now.latency_recent ? 1 : batch.tenants;
  return window(input, share_ns(tenant, batch, input.tuning.window_us * windows));
}

// A request that finds the latency tenant idle has no queue before it and can best afford company;
// a long stretch of work is where a queue builds up.
bool PriorityPolicy::in_grace(const PolicyInput& input, bool latency_works) {
  if (latency_works && !latency_worked_) latency_since_ns_ = input.now_ns;
  latency_worked_ = latency_works;
  return latency_works &&
         input.now_ns - latency_since_ns_ < input.tuning.latency_grace_us * kNsPerUs;
}

void PriorityPolicy::decide(const PolicyInput& input, PolicyOutput& output) {
  Situation now = assess(input);
  now.grace = in_grace(input, now.latency_works);
  output.latency_active = now.latency_works;
  output.gates.clear();
  for (const TenantView& tenant : input.tenants) {
    if (tenant.tenant_class == TenantClass::kLatency) {
      output.gates.push_back(latency_gate(input, now));
      continue;
    }
    output.gates.push_back(batch_gate(input, tenant, now));
    output.gates.back().stream_priority_rank = -1;
  }
}

}  // namespace

std::unique_ptr<Policy> make_priority_policy() {
  return std::make_unique<PriorityPolicy>();
}

}  // namespace gacer::regulator
