// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/regulator/harness.h"

namespace gacer::regulator::test {
namespace {

// Two tenants with work; `first` owns the slice, `second` waits for it.
struct TwoTenants : testing::Test {
  TwoTenants() : h("timeslice") {
    first = h.batch("first");
    second = h.batch("second");
    h.step(0);
    h.submit(first, 100 * kUs);
    h.submit(second, 100 * kUs);
    h.set_waiting(second, 1);
    h.step(100 * kUs);
  }
  Harness h;
  ProcessId first = 0, second = 0;
};

TEST(Timeslice, EverybodyMayStartWhileNobodyWorks) {
  Harness h("timeslice");
  const ProcessId a = h.batch("a"), b = h.latency("b");
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(a).mode, GateMode::kWindow);
  EXPECT_EQ(h.gate(b).mode, GateMode::kWindow);
}

TEST(Timeslice, AnOwnerWithoutCompetitorIsNotThrottled) {
  Harness h("timeslice");
  const ProcessId a = h.batch("a"), b = h.batch("b");
  h.step(0);
  h.submit(a, 100 * kUs);
  h.run(200 * kMs);
  EXPECT_EQ(h.gate(a).mode, GateMode::kUngated);
  EXPECT_EQ(h.gate(b).mode, GateMode::kClosed);
}

TEST_F(TwoTenants, OneIsOpenTheOtherIsHeldForTheQuantum) {
  EXPECT_EQ(h.gate(first).mode, GateMode::kWindow);
  EXPECT_EQ(h.gate(second).mode, GateMode::kClosed);
  EXPECT_EQ(h.gate(second).reason, HoldReason::kNotMyQuantum);
  EXPECT_EQ(h.wakeup_in_ns(), 100 * kUs);
}

TEST_F(TwoTenants, TheBoundOfAWaitCoversAllTurns) {
  EXPECT_EQ(h.gate(second).max_wait_ns, 200 * kMs);  // two tenants: slices, debts, drain
}

TEST_F(TwoTenants, TheSwitchWaitsForTheOwnersWorkToDrain) {
  h.run(9 * kMs);
  EXPECT_EQ(h.gate(first).mode, GateMode::kWindow);
  h.run(2 * kMs);
  EXPECT_EQ(h.gate(first).mode, GateMode::kClosed);
  EXPECT_EQ(h.gate(second).mode, GateMode::kClosed) << "the first one's work still runs";
  h.complete_all(first);
  h.set_waiting(first, 1);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(second).mode, GateMode::kWindow);
  EXPECT_EQ(h.gate(first).mode, GateMode::kClosed);
}

TEST_F(TwoTenants, ADrainThatNeverEndsIsBounded) {
  h.run(11 * kMs);
  h.run(51 * kMs);
  EXPECT_EQ(h.gate(second).mode, GateMode::kWindow);
}

TEST_F(TwoTenants, AnIdleOwnerYieldsAtOnce) {
  h.complete_all(first);
  h.step(100 * kUs);  // the counters moved: still seen as working
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(second).mode, GateMode::kWindow);
  EXPECT_EQ(h.gate(first).mode, GateMode::kClosed);
}

TEST_F(TwoTenants, TheNextOneTakesOverWhenTheOwnerDetaches) {
  h.detach(first);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(second).mode, GateMode::kUngated);
}

TEST_F(TwoTenants, AfterAllWorkIsDoneEverybodyIsOpenAgain) {
  h.complete_all(first);
  h.complete_all(second);
  h.set_waiting(second, 0);
  h.run(1 * kMs);
  EXPECT_EQ(h.gate(first).mode, GateMode::kWindow);
  EXPECT_EQ(h.gate(second).mode, GateMode::kWindow);
}

TEST(Timeslice, ThreeTenantsTakeTurns) {
  Harness h("timeslice");
  const std::vector<ProcessId> all = {h.batch("a"), h.batch("b"), h.batch("c")};
  for (const ProcessId process : all) h.set_waiting(process, 1);
  std::vector<ProcessId> owners;
  for (int i = 0; i < 400; ++i) {
    h.step(100 * kUs);
    for (const ProcessId process : all) {
      if (h.gate(process).mode == GateMode::kClosed) continue;
      if (owners.empty() || owners.back() != process) owners.push_back(process);
    }
  }
  ASSERT_GE(owners.size(), 4u);
  EXPECT_EQ(owners[0], all[0]);
  EXPECT_EQ(owners[1], all[1]);
  EXPECT_EQ(owners[2], all[2]);
  EXPECT_EQ(owners[3], all[0]);
}

}  // namespace
}  // namespace gacer::regulator::test
