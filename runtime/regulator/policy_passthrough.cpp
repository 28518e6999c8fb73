// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/policy.h"

namespace gacer::regulator {
namespace {

class PassthroughPolicy final : public Policy {
 public:
  void decide(const PolicyInput& input, PolicyOutput& output) override {
    GateDecision gate = ungated(input);
    gate.record = input.tuning.record_passthrough != 0;
    output.gates.assign(input.tenants.size(), gate);
    output.latency_active = any_worked_within(input, TenantClass::kLatency, 0);
  }
};

}  // namespace

std::unique_ptr<Policy> make_passthrough_policy() {
  return std::make_unique<PassthroughPolicy>();
}

}  // namespace gacer::regulator
