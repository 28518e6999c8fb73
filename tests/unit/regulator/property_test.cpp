// SPDX-License-Identifier: Apache-2.0
// Random histories of attach, detach, work, forged counters, tuning and policy switches: what must
// hold after every decision holds. A failure prints the seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/regulator/harness.h"

namespace gacer::regulator::test {
namespace {

constexpr int kHistories = 1000;
constexpr int kSteps = 150;

class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {}

  void run() {
    for (int i = 0; i < kSteps && !testing::Test::HasFailure(); ++i) {
      act();
      h_.step(below(4) == 0 ? below(20 * kMs) : below(300 * kUs));
      check();
    }
  }

 private:
  struct Member {
    ProcessId id = 0;
    TenantClass tenant_class = TenantClass::kBatch;
  };

  uint64_t below(uint64_t limit) {
    return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random_);
  }
  uint64_t any_number() { return below(3) == 0 ? UINT64_MAX - below(1000) : below(1'000'000'000); }
  Member* anyone() { return members_.empty() ? nullptr : &members_[below(members_.size())]; }

  void act() {
    switch (below(10)) {
      case 0:
        return attach();
      case 1:
        return detach();
      case 2:
        return configure();
      case 3:
        return forge();
      case 4:
        return wait();
      case 5:
        return finish();
      default:
        return work();
    }
  }
  void attach() {
    if (members_.size() >= 6) return;
    const auto tenant_class = below(3) == 0 ? TenantClass::kLatency : TenantClass::kBatch;
    const std::string kind = tenant_class == TenantClass::kLatency ? "lat" : "bat";
    const auto weight = static_cast<uint32_t>(1 + below(1000));
    const auto priority = static_cast<int32_t>(below(UINT32_MAX));
    const ProcessId id = h_.attach(kind + std::to_string(below(4)), tenant_class, weight, priority);
    members_.push_back({id, tenant_class});
  }
  void detach() {
    if (members_.empty()) return;
    const size_t victim = below(members_.size());
    h_.detach(members_[victim].id);
    members_.erase(members_.begin() + static_cast<ptrdiff_t>(victim));
  }
  void configure() {
    const uint64_t before = h_.core->generation();
    const auto names = policy_names();
    if (below(2) == 0) {
      EXPECT_TRUE(h_.core->set_policy(names[below(names.size())]));
    } else {
      const auto knobs = h_.core->knobs();
      const auto& knob = knobs[below(knobs.size())];
      (void)h_.core->tune(knob.key, std::to_string(below(200)));
    }
    EXPECT_GE(h_.core->generation(), before);
  }
  void forge() {
    if (Member* member = anyone()) {
      h_.set_stream(member->id, any_number(), any_number());
      LaunchEvent launch{any_number(), any_number(), any_number(), any_number()};
      launch.stream_slot = static_cast<uint32_t>(below(70));
      launch.kind = static_cast<uint32_t>(below(6));
      h_.core->on_launch(member->id, launch);
    }
  }
  void wait() {
    if (Member* member = anyone()) h_.set_waiting(member->id, static_cast<uint32_t>(below(3)));
  }
  void finish() {
    if (Member* member = anyone()) h_.complete_all(member->id);
  }
  void work() {
    if (Member* member = anyone()) h_.submit(member->id, below(500 * kUs));
  }

  void check() {
    const Snapshot all = h_.core->snapshot();
    for (const Member& member : members_) {
      ASSERT_TRUE(h_.has_gate(member.id)) << "every process has a decision";
      const GateDecision& gate = h_.gate(member.id);
      EXPECT_GT(gate.max_wait_ns, 0u) << "every wait is bounded";
      EXPECT_TRUE(gate.mode == GateMode::kUngated || gate.mark_every == 1);
      EXPECT_TRUE(gate.mode != GateMode::kWindow || gate.window_ns > 0);
      EXPECT_TRUE(gate.mode != GateMode::kClosed || gate.reason != HoldReason::kNone);
      if (all.policy == "priority" && member.tenant_class == TenantClass::kLatency) {
        EXPECT_EQ(gate.mode, GateMode::kUngated);
      }
      if (all.policy == "passthrough") {
        EXPECT_EQ(gate.mode, GateMode::kUngated);
      }
    }
    check_somebody_runs(all);
    EXPECT_GE(h_.core->next_wakeup_ns(h_.now_ns), h_.now_ns);
    EXPECT_LE(h_.wakeup_in_ns(), 1'000 * kMs);
  }

  // Not all tenants with work are held for longer than a drain and a linger time can last.
  void check_somebody_runs(const Snapshot& all) {
    bool works = false, runs = false;
    for (const TenantSnapshot& tenant : all.tenants) {
      works |= tenant.active;
      runs |= tenant.active && tenant.gate.mode != GateMode::kClosed;
    }
    if (!works || runs) {
      all_held_since_ns_ = 0;
      return;
    }
    if (all_held_since_ns_ == 0) all_held_since_ns_ = h_.now_ns;
    EXPECT_LE(h_.now_ns - all_held_since_ns_, 300 * kMs);
  }

  Harness h_;
  std::mt19937_64 random_;
  std::vector<Member> members_;
  uint64_t all_held_since_ns_ = 0;
};

TEST(RegulatorProperties, HoldAfterEveryDecisionOfRandomHistories) {
  for (uint64_t seed = 1; seed <= kHistories && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(seed).run();
  }
}

}  // namespace
}  // namespace gacer::regulator::test
