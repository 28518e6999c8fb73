// SPDX-License-Identifier: Apache-2.0
// Tenants can write anything into their counters and records: only their own account may show it.
#include <gtest/gtest.h>

#include "tests/unit/regulator/harness.h"

namespace gacer::regulator::test {
namespace {

struct Forger : testing::Test {
  Forger() {
    honest = h.batch("honest");
    forger = h.batch("forger");
    h.step(0);
    h.submit(honest, 50 * kUs);
    h.submit(forger, 50 * kUs);
    h.step(100 * kUs);
    before = h.gate(honest);
  }
  void expect_honest_untouched() {
    EXPECT_EQ(h.gate(honest), before);
    EXPECT_EQ(h.tenant("honest").in_flight_ns, 50 * kUs);
    EXPECT_EQ(h.tenant("honest").completed_cost_ns, 0u);
  }
  Harness h;
  ProcessId honest = 0, forger = 0;
  GateDecision before;
};

TEST_F(Forger, CompletedBeyondSubmittedIsNothingInFlight) {
  h.set_stream(forger, 100 * kUs, UINT64_MAX);
  h.step(100 * kUs);
  EXPECT_EQ(h.tenant("forger").in_flight_ns, 0u);
  expect_honest_untouched();
}

TEST_F(Forger, HugeCountersAreBounded) {
  h.set_stream(forger, UINT64_MAX, 0);
  h.step(100 * kUs);
  EXPECT_GT(h.tenant("forger").in_flight_ns, 0u);
  EXPECT_LE(h.tenant("forger").in_flight_ns, 64 * 10'000'000 * kMs);
  expect_honest_untouched();
}

TEST_F(Forger, CountersThatWrapAreANewStream) {
  h.set_stream(forger, UINT64_MAX, UINT64_MAX - 10);
  h.step(100 * kUs);
  h.set_stream(forger, 5, 3);
  h.step(100 * kUs);
  EXPECT_EQ(h.tenant("forger").in_flight_ns, 2u);
  expect_honest_untouched();
}

TEST_F(Forger, RecordsFullOfOnesAreHarmless) {
  LaunchEvent launch;
  launch.submit_ns = launch.kernel_id = launch.stream_cost_ns = launch.blocks = UINT64_MAX;
  launch.cost_slot = launch.cost_ns = launch.wait_ns = launch.smem_bytes = UINT32_MAX;
  launch.block_threads = launch.regs_per_thread = launch.kind = launch.stream_slot = UINT32_MAX;
  h.core->on_launch(forger, launch);
  launch.stream_slot = 0;
  for (int i = 0; i < 5000; ++i) h.core->on_launch(forger, launch);
  h.step(100 * kUs);
  h.step(100 * kUs);
  EXPECT_EQ(h.tenant("forger").in_flight_ns, 50 * kUs) << "the counters have the last word";
  expect_honest_untouched();
}

TEST_F(Forger, SlotsOutOfRangeAreIgnored) {
  ProgressEvent progress;
  progress.streams = {{64, 100, 0}, {UINT32_MAX, UINT64_MAX, 0}};
  h.core->on_progress(forger, progress, h.now_ns);
  std::vector<ProcessDecision> gates;
  std::vector<KernelCost> costs;
  h.core->decide(h.now_ns, gates, costs);
  EXPECT_EQ(h.tenant("forger").in_flight_ns, 0u);
  expect_honest_untouched();
}

TEST_F(Forger, FloodsOfDistinctKernelsAndStreamsStayBounded) {
  for (uint64_t i = 0; i < 100'000; ++i) {
    LaunchEvent launch;
    launch.kernel_id = i;
    launch.kind = 1;
    launch.stream_slot = static_cast<uint32_t>(i % 64);
    launch.stream_cost_ns = i + 1;
    launch.cost_slot = static_cast<uint32_t>(i);
    h.core->on_launch(forger, launch);
  }
  h.step(100 * kUs);
  expect_honest_untouched();
}

}  // namespace
}  // namespace gacer::regulator::test
