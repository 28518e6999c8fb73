// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/engine/timing.h"
#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

constexpr double kTickSlack = 2.0 * kTickNs;

TEST(Sharing, SmallKernelsOfTwoMpsClientsOverlapFully) {
  // Given two clients under MPS with kernels of 80 blocks, one block an SM.
  Harness h;
  const OpId a = h.kernel(h.stream(h.client(true)), 80, 100'000);
  const OpId b = h.kernel(h.stream(h.client(true)), 80, 100'000);
  ASSERT_TRUE(h.run_dry());
  // Then both take as long as alone, at the same time.
  EXPECT_EQ(h.start_of(a), h.start_of(b));
  EXPECT_NEAR(static_cast<double>(h.duration_of(a)), 100'000, kTickSlack);
  EXPECT_NEAR(static_cast<double>(h.duration_of(b)), 100'000, kTickSlack);
}

TEST(Sharing, WithoutMpsTheSameKernelsTakeTurns) {
  // Given two clients without MPS.
  Harness h;
  const OpId a = h.kernel(h.stream(h.client(false)), 80, 100'000);
  const OpId b = h.kernel(h.stream(h.client(false)), 80, 100'000);
  ASSERT_TRUE(h.run_dry());
  // Then they do not overlap, and a context switch lies between them.
  EXPECT_FALSE(overlap(h, a, b));
  EXPECT_GE(h.start_of(b), h.end_of(a) + kContextSwitchFixedNs);
}

TEST(Sharing, LongKernelsAreSlicedAndFrozenBlocksGoOn) {
  // Given two clients without MPS whose kernels last 10 slices each.
  Harness h;
  const double block_ns = 10.0 * kTimesliceNs;
  const OpId a = h.kernel(h.stream(h.client(false)), 108, block_ns);
  const OpId b = h.kernel(h.stream(h.client(false)), 108, block_ns);
  ASSERT_TRUE(h.run_dry());
  // Then they are interleaved, their blocks are not lost, and the sum of the time is the work plus
  // the switches.
  EXPECT_TRUE(overlap(h, a, b));
  const double total = static_cast<double>(std::max(h.end_of(a), h.end_of(b)) - h.start_of(a));
  EXPECT_GT(total, 2 * block_ns);
  EXPECT_LT(total, 2 * block_ns * 1.15);
  EXPECT_GT(static_cast<double>(h.duration_of(a)), 1.8 * block_ns);
}

TEST(Sharing, AChainOfSmallKernelsKeepsItsSlice) {
  // Given a client with a chain of 40 short kernels and one with a long kernel, without MPS.
  Harness h;
  const uint32_t chain = h.stream(h.client(false));
  const OpId first = h.kernel(chain, 1, 10'000);
  for (int i = 0; i < 38; ++i) h.kernel(chain, 1, 10'000);
  const OpId last = h.kernel(chain, 1, 10'000);
  h.kernel(h.stream(h.client(false)), 216, 2e7);
  ASSERT_TRUE(h.run_dry());
  // Then the chain ends within its first slice.
  EXPECT_LT(h.end_of(last) - h.start_of(first), kTimesliceNs);
}

TEST(Sharing, ALoneClientIsNeverSliced) {
  Harness h;
  h.client(false);
  const OpId a = h.kernel(h.stream(h.client(false)), 216, 50'000'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(a)), 50'000'000, kTickSlack);
}

TEST(Sharing, KernelsThatFillTheDeviceFollowEachOther) {
  // Given two MPS clients whose kernels fill every SM.
  Harness h;
  const uint64_t full = 2 * h.device.spec.sm_count;
  const OpId a = h.kernel(h.stream(h.client(true)), full, 100'000);
  const OpId b = h.kernel(h.stream(h.client(true)), full, 100'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GE(h.start_of(b), h.end_of(a));
}

TEST(Sharing, HighPriorityBlocksTakeTheNextFreedSlots) {
  // Given a long low-priority kernel of many waves and a small one of high priority that comes in
  // between.
  Harness h;
  const uint32_t client = h.client(true);
  const uint32_t low_stream = h.stream(client, StreamKind::kNonBlocking, 0);
  const uint32_t high_stream = h.stream(h.client(true), StreamKind::kNonBlocking, -5);
  const OpId low = h.kernel(low_stream, 216 * 20, 50'000);
  h.advance_to(120'000);
  const OpId high = h.kernel(high_stream, 60, 10'000, 1024, -5);
  const OpId behind = h.kernel(h.stream(client), 60, 10'000, 1024, 0);
  ASSERT_TRUE(h.run_dry());
  // Then it starts when the running wave ends, long before the low one has ended; the one of equal
  // priority, which came as late, waits for the low one's last wave.
  EXPECT_LE(h.start_of(high), h.start_of(low) + 150'000 + 3 * kTickNs);
  EXPECT_LT(h.end_of(high), h.end_of(low));
  EXPECT_GE(h.start_of(behind), h.start_of(low) + 19 * 50'000);
}

TEST(Sharing, RunningBlocksAreNotPreempted) {
  Harness h;
  const OpId low = h.kernel(h.stream(h.client(true)), 216, 1'000'000);
  h.advance_to(100'000);
  const OpId high = h.kernel(h.stream(h.client(true)), 1, 1'000, 1024, -5);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GE(h.start_of(high), h.end_of(low));
}

TEST(Sharing, LeftoverRoomGoesToLowerPriority) {
  // Given a high-priority kernel that leaves half of every SM.
  Harness h;
  const OpId high = h.kernel(h.stream(h.client(true)), 108, 100'000, 1024, -5);
  const OpId low = h.kernel(h.stream(h.client(true)), 108, 100'000, 1024, 0);
  ASSERT_TRUE(h.run_dry());
  EXPECT_EQ(h.start_of(low), h.start_of(high));
}

KernelCost streaming(const Harness& h, double block_ns) {
  // All SMs together ask for four times the reachable bandwidth with one block each: queues in
  // front of DRAM cost nothing more.
  KernelCost cost;
  cost.threads = 512;
  cost.alone_ns = block_ns / 4;
  cost.dram_bytes = h.device.spec.dram_bytes_per_ns * h.device.memory.dram_efficiency * block_ns /
                    h.device.spec.sm_count;
  return cost;
}

TEST(Sharing, TwoStreamingKernelsHalveTheBandwidth) {
  Harness h;
  const KernelCost cost = streaming(h, 100'000);
  const OpId alone = h.kernel_of(h.stream(h.client(true)), 108, cost);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(alone)), 100'000, 1'000);
  const OpId a = h.kernel_of(h.stream(h.client(true)), 108, cost);
  const OpId b = h.kernel_of(h.stream(h.client(true)), 108, cost);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(a)), 200'000, 2'000);
  EXPECT_NEAR(static_cast<double>(h.duration_of(b)), 200'000, 2'000);
}

TEST(Sharing, QueuesFormBeforeDramIsFull) {
  // Given a kernel that asks for just the reachable bandwidth.
  Harness h;
  KernelCost cost = streaming(h, 100'000);
  cost.alone_ns = 100'000;
  const OpId full = h.kernel_of(h.stream(h.client(true)), 108, cost);
  ASSERT_TRUE(h.run_dry());
  cost.dram_bytes /= 5;
  const OpId light = h.kernel_of(h.stream(h.client(true)), 108, cost);
  ASSERT_TRUE(h.run_dry());
  // Then it gets some four fifths of it, and one that asks for a fifth gets that.
  EXPECT_NEAR(static_cast<double>(h.duration_of(full)), 126'000, 1'000);
  EXPECT_NEAR(static_cast<double>(h.duration_of(light)), 100'000, kTickSlack);
}

TEST(Sharing, L2TimeIsSharedByAllSms) {
  // Given two kernels of which each keeps L2 busy for three quarters of its time.
  Harness h;
  KernelCost cost;
  cost.threads = 512;
  cost.alone_ns = 100'000;
  cost.l2_ns = 75'000.0 / h.device.spec.sm_count;
  const OpId a = h.kernel_of(h.stream(h.client(true)), 108, cost);
  const OpId b = h.kernel_of(h.stream(h.client(true)), 108, cost);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(a)), 150'000, 1'500);
  EXPECT_NEAR(static_cast<double>(h.duration_of(b)), 150'000, 1'500);
}

TEST(Sharing, AComputeKernelIsNotSlowedByAStreamingNeighbour) {
  Harness h;
  const OpId memory = h.kernel_of(h.stream(h.client(true)), 216, streaming(h, 100'000));
  const OpId compute = h.kernel(h.stream(h.client(true)), 108, 100'000, 512);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(compute)), 100'000, kTickSlack);
  EXPECT_NEAR(static_cast<double>(h.duration_of(memory)), 200'000, 2'000);
}

KernelCost issue_bound(double block_ns, double pipe_share) {
  KernelCost cost;
  cost.threads = 512;
  cost.alone_ns = block_ns;
  cost.pipe_ns[kIssue] = block_ns * pipe_share;
  return cost;
}

TEST(Sharing, BlocksOnOneSmShareItsIssueSlots) {
  // Given two blocks an SM of which each alone uses 0.8 of the issue slots.
  Harness h;
  const OpId a = h.kernel_of(h.stream(h.client(true)), 108, issue_bound(100'000, 0.8));
  const OpId b = h.kernel_of(h.stream(h.client(true)), 108, issue_bound(100'000, 0.8));
  ASSERT_TRUE(h.run_dry());
  // Then both take 1.6 times as long.
  EXPECT_NEAR(static_cast<double>(h.duration_of(a)), 160'000, kTickSlack);
  EXPECT_NEAR(static_cast<double>(h.duration_of(b)), 160'000, kTickSlack);
}

TEST(Sharing, ASmallDemandIsMetWhileTheLargeOneYields) {
  Harness h;
  const OpId small = h.kernel_of(h.stream(h.client(true)), 108, issue_bound(100'000, 0.2));
  const OpId large = h.kernel_of(h.stream(h.client(true)), 108, issue_bound(100'000, 1.0));
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(small)), 100'000, kTickSlack);
  EXPECT_NEAR(static_cast<double>(h.duration_of(large)), 120'000, 2 * kTickSlack);
}

TEST(Sharing, DifferentPipesDoNotCompete) {
  Harness h;
  KernelCost fp = issue_bound(100'000, 0.0);
  fp.pipe_ns[kFp32] = 90'000;
  KernelCost tensor = issue_bound(100'000, 0.0);
  tensor.pipe_ns[kTensor] = 90'000;
  const OpId a = h.kernel_of(h.stream(h.client(true)), 108, fp);
  const OpId b = h.kernel_of(h.stream(h.client(true)), 108, tensor);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(a)), 100'000, kTickSlack);
  EXPECT_NEAR(static_cast<double>(h.duration_of(b)), 100'000, kTickSlack);
}

}  // namespace
}  // namespace gacer::simdevice::test
