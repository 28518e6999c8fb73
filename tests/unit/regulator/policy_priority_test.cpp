// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/regulator/harness.h"

namespace gacer::regulator::test {
namespace {

// A latency and a batch tenant that both worked lately, the latency tenant idle by now.
struct Pair : testing::Test {
  Pair() {
    lat = h.latency("web");
    bat = h.batch("train");
    h.step(0);
    h.submit(lat, 50 * kUs);
    h.submit(bat, 50 * kUs);
    h.step(100 * kUs);
    h.complete_all(lat);
    h.run(1 * kMs);
  }
  Harness h;
  ProcessId lat = 0, bat = 0;
};

TEST_F(Pair, BatchHasItsWindowWhileLatencyIsQuiet) {
  const GateDecision& gate = h.gate(bat);
  EXPECT_EQ(gate.mode, GateMode::kWindow);
  EXPECT_EQ(gate.window_ns, 1000 * kUs);
  EXPECT_EQ(gate.mark_every, 1u);
  EXPECT_TRUE(gate.record);
  EXPECT_EQ(gate.max_wait_ns, 50 * kMs);
  EXPECT_EQ(gate.stream_priority_rank, -1);
}

TEST_F(Pair, LatencyWorkClosesBatchAtTheNextDecision) {
  h.submit(lat, 20 * kUs);
  const auto changed = h.step(100 * kUs);
  EXPECT_EQ(changed, std::vector<ProcessId>{bat});
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
  EXPECT_EQ(h.gate(bat).reason, HoldReason::kLatencyActive);
  EXPECT_EQ(h.gate(bat).max_wait_ns, 50 * kMs);
  EXPECT_TRUE(h.core->latency_active());
}

TEST_F(Pair, TheGraceTimeKeepsTheWindowOpenAtTheStartOfAStretchOfWork) {
  ASSERT_TRUE(h.core->tune("latency_grace_us", "1000"));
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);  // the stretch begins here
  EXPECT_EQ(h.gate(bat).mode, GateMode::kWindow);
  EXPECT_TRUE(h.core->latency_active());
  h.step(900 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kWindow);
  // When the stretch has lasted for longer, batch is held as without grace
  h.step(200 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
  // And the next stretch has its own grace
  h.complete_all(lat);
  h.run(1 * kMs);
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kWindow);
}

TEST_F(Pair, ALaunchRecordAloneClosesBatch) {
  LaunchEvent launch;
  launch.stream_cost_ns = 1'000'000;
  h.core->on_launch(lat, launch);
  std::vector<ProcessDecision> gates;
  std::vector<KernelCost> costs;
  h.core->decide(h.now_ns, gates, costs);
  ASSERT_EQ(gates.size(), 1u);
  EXPECT_EQ(gates[0].process, bat);
  EXPECT_EQ(gates[0].gate.mode, GateMode::kClosed);
}

TEST_F(Pair, WorkThatCameAndWentBetweenTwoPollsClosesBatchToo) {
  h.submit(lat, 20 * kUs);
  h.complete_all(lat);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
}

TEST_F(Pair, AGapShorterThanTheLingerKeepsBatchClosed) {
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  h.complete_all(lat);
  h.step(100 * kUs);  // last work seen here
  h.step(150 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
}

TEST_F(Pair, BatchReopensOnceTheLingerIsOver) {
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  h.complete_all(lat);
  h.step(100 * kUs);
  h.step(201 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kWindow);
  EXPECT_FALSE(h.core->latency_active());
}

TEST_F(Pair, ReopenTimeComesOnTopOfTheLinger) {
  ASSERT_TRUE(h.core->tune("reopen_us", "500"));
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  h.complete_all(lat);
  h.step(100 * kUs);
  h.step(400 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
  EXPECT_FALSE(h.core->latency_active());
  h.step(301 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kWindow);
}

TEST_F(Pair, OverlapKnobLeavesASmallWindowOpenBesideLatency) {
  ASSERT_TRUE(h.core->tune("latency_overlap_us", "150"));
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kWindow);
  EXPECT_EQ(h.gate(bat).window_ns, 150 * kUs);
  EXPECT_EQ(h.gate(bat).reason, HoldReason::kLatencyActive);
}

TEST_F(Pair, ALoneBatchTenantRunsUngatedOnceLatencyIsQuietForLong) {
  h.run(1000 * kMs);
  h.submit(bat, 50 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kUngated);
  EXPECT_EQ(h.gate(bat).mark_every, 64u);
}

TEST_F(Pair, ACounterThatStandsStillIsTakenAsIdleAndCounted) {
  h.submit(lat, 20 * kUs);
  h.run(400 * kMs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
  h.run(200 * kMs);
  EXPECT_NE(h.gate(bat).mode, GateMode::kClosed);
  EXPECT_EQ(h.tenant("web").stale_streams, 1u);
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed) << "new work counts again";
}

TEST_F(Pair, LatencyTenantIsNeverGatedAndMarkedBesideBatch) {
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(lat).mode, GateMode::kUngated);
  EXPECT_EQ(h.gate(lat).mark_every, 16u);
  EXPECT_EQ(h.gate(lat).stream_priority_rank, 1);
}

TEST_F(Pair, PollsFastWhileTheyCompeteAndSlowlyWhenIdle) {
  h.submit(bat, 20 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.wakeup_in_ns(), 100 * kUs);
  h.complete_all(bat);
  h.run(200 * kMs);
  EXPECT_EQ(h.wakeup_in_ns(), 20 * kMs);
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.wakeup_in_ns(), 1 * kMs);
}

TEST_F(Pair, DetachOfTheLatencyTenantFreesBatchAtOnce) {
  h.submit(lat, 20 * kUs);
  h.step(100 * kUs);
  h.detach(lat);
  EXPECT_EQ(h.wakeup_in_ns(), 0u);
  h.step(0);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kUngated);
}

TEST(Priority, ATenantThatIsAloneIsUngatedWithoutMarksAndRecords) {
  for (const TenantClass tenant_class : {TenantClass::kLatency, TenantClass::kBatch}) {
    Harness h;
    const ProcessId only = h.attach("only", tenant_class);
    h.submit(only, 50 * kUs);
    h.step(100 * kUs);
    EXPECT_EQ(h.gate(only).mode, GateMode::kUngated);
    EXPECT_EQ(h.gate(only).mark_every, 0u);
    EXPECT_FALSE(h.gate(only).record);
  }
}

TEST(Priority, LaunchesWithoutMarksCountAsWorkOnlyWhenTheyMove) {
  Harness h;
  const ProcessId only = h.latency("only");
  h.step(0);
  h.submit(only, 50 * kUs);
  h.step(1 * kMs);
  EXPECT_TRUE(h.tenant("only").active);
  EXPECT_EQ(h.tenant("only").in_flight_ns, 0u);
  h.step(1 * kMs);
  EXPECT_FALSE(h.tenant("only").active);
}

TEST(Priority, SeveralBatchTenantsShareByWeight) {
  Harness h;
  const ProcessId one = h.batch("one", 1), three = h.batch("three", 3);
  h.submit(one, 50 * kUs);
  h.submit(three, 50 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(one).mode, GateMode::kWindow);
  EXPECT_EQ(h.gate(one).window_ns, 500 * kUs);
  EXPECT_EQ(h.gate(three).window_ns, 1500 * kUs);
}

TEST(Priority, TheBatchClassAsAWholeKeepsTheWindowBesideLatency) {
  Harness h;
  const ProcessId lat = h.latency("web");
  const ProcessId one = h.batch("one", 1), three = h.batch("three", 3);
  h.step(0);
  h.submit(lat, 50 * kUs);
  h.submit(one, 50 * kUs);
  h.submit(three, 50 * kUs);
  h.step(100 * kUs);
  h.complete_all(lat);
  h.run(1 * kMs);
  EXPECT_EQ(h.gate(one).window_ns, 250 * kUs);
  EXPECT_EQ(h.gate(three).window_ns, 750 * kUs);
}

TEST(Priority, AnIdleBatchTenantTakesNothingFromTheOthers) {
  Harness h;
  const ProcessId busy = h.batch("busy"), idle = h.batch("idle");
  h.submit(busy, 50 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(busy).mode, GateMode::kUngated);
  EXPECT_EQ(h.gate(idle).mode, GateMode::kWindow) << "ready to compete when it starts";
}

TEST(Priority, GreaterPriorityDoublesTheWeightPerStep) {
  Harness h;
  const ProcessId low = h.batch("low", 1, -1), high = h.batch("high", 1, 0);
  h.submit(low, 50 * kUs);
  h.submit(high, 50 * kUs);
  h.step(100 * kUs);
  EXPECT_NEAR(static_cast<double>(h.gate(high).window_ns),
              2.0 * static_cast<double>(h.gate(low).window_ns), 2);
}

TEST(Priority, ProcessesOfOneTenantShareItsWindow) {
  Harness h;
  const ProcessId a = h.batch("train"), b = h.batch("train"), other = h.batch("other");
  for (const ProcessId process : {a, b, other}) h.submit(process, 50 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(a).window_ns, 500 * kUs);
  EXPECT_EQ(h.gate(b).window_ns, 500 * kUs);
  EXPECT_EQ(h.gate(other).window_ns, 1000 * kUs);
}

TEST(Priority, SeveralLatencyTenantsAllHoldBatchClosed) {
  Harness h;
  const ProcessId first = h.latency("a"), second = h.latency("b"), bat = h.batch("train");
  h.step(0);
  h.submit(bat, 50 * kUs);
  h.submit(first, 50 * kUs);
  h.submit(second, 50 * kUs);
  h.step(100 * kUs);
  h.complete_all(first);
  h.run(1 * kMs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
  EXPECT_EQ(h.gate(first).mode, GateMode::kUngated);
  EXPECT_EQ(h.gate(second).mode, GateMode::kUngated);
}

}  // namespace
}  // namespace gacer::regulator::test
