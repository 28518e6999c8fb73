// SPDX-License-Identifier: Apache-2.0
// What caches catch, and what others on the SM or the device do to it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

TEST(HitRate, IsOneWhileAllFitsAndFallsSmoothly) {
  EXPECT_EQ(hit_rate(1000, 1000), 1.0);
  EXPECT_EQ(hit_rate(1, 0), 0.0);
  double last = 1.0;
  for (double working = 1100; working < 4000; working += 100) {
    const double hits = hit_rate(working, 1000);
    EXPECT_LT(hits, last);
    // A line survives until its turn if none of the misses in between hits its place.
    EXPECT_NEAR(hits, std::exp(-(1 - hits) * working / 1000), 1e-3);
    last = hits;
  }
  EXPECT_LT(last, 0.03);
}

// Blocks of two warps that go through `bytes` again and again.
KernelCost walker(const DeviceModel& device, uint64_t bytes, uint64_t blocks) {
  constexpr uint64_t kRounds = 100;
  const uint64_t sectors = bytes / 32;
  BlockCounters c;
  c.warps = 2;
  c.memory_warp = c.warp_instructions = kRounds * sectors / 4;
  c.longest_warp_instructions = c.warp_instructions / 2;
  c.chain[static_cast<size_t>(Latency::kGlobal)] = c.memory_warp * 16;
  c.global_sectors_read = kRounds * sectors;
  c.unique_bytes_read = bytes;
  c.reuse[std::bit_width(bytes >> 10)] = {(kRounds - 1) * sectors, 0,
                                          (kRounds - 1) * sectors * sectors};
  return kernel_cost(device, {64, 16, 0, blocks, 0}, c, 1);
}

TEST(Caches, ANeighbourWhoseDataFitTooCostsNothing) {
  Harness h("V100");
  const KernelCost cost = walker(h.device, 32 << 10, 80);
  const OpId alone = h.kernel_of(h.stream(h.client(true)), 80, cost);
  ASSERT_TRUE(h.run_dry());
  const OpId a = h.kernel_of(h.stream(h.client(true)), 80, cost);
  h.kernel_of(h.stream(h.client(true)), 80, cost);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(a)), static_cast<double>(h.duration_of(alone)),
              0.02 * static_cast<double>(h.duration_of(alone)));
}

TEST(Caches, TogetherTooLargeForL1IsSlowerThanOneAfterTheOther) {
  // Given kernels of which each fills three quarters of L1.
  Harness h("V100");
  const KernelCost cost = walker(h.device, 96 << 10, 80);
  const OpId alone = h.kernel_of(h.stream(h.client(true)), 80, cost);
  ASSERT_TRUE(h.run_dry());
  const OpId a = h.kernel_of(h.stream(h.client(true)), 80, cost);
  h.kernel_of(h.stream(h.client(true)), 80, cost);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GT(h.duration_of(a), 2 * h.duration_of(alone));
}

TEST(Caches, SharedMemoryLeavesLessL1) {
  Harness h("V100");
  BlockCounters c;
  c.warps = 2;
  c.warp_instructions = 20'000;
  c.longest_warp_instructions = 10'000;
  c.chain[static_cast<size_t>(Latency::kGlobal)] = 20'000 * 16;
  c.global_sectors_read = 80'000;
  c.unique_bytes_read = 64 << 10;
  c.reuse[7] = {78'000, 0, 78'000 * 2048};
  const KernelCost roomy = kernel_cost(h.device, {64, 16, 0, 80, 0}, c, 1);
  const KernelCost tight = kernel_cost(h.device, {64, 16, 96 << 10, 80, 0}, c, 1);
  EXPECT_GT(tight.alone_ns, 1.5 * roomy.alone_ns);
}

TEST(Caches, TimesDoNotDependOnAnythingButTheInput) {
  const auto ends = [] {
    Harness h("A100");
    std::vector<uint64_t> times;
    std::vector<OpId> ops;
    for (uint64_t i = 1; i <= 40; ++i)
      ops.push_back(h.kernel_of(h.stream(h.client(i % 3 != 0)), 60 * i,
                                walker(h.device, i * 8 << 10, 60 * i)));
    h.run_dry();
    for (const OpId op : ops) times.push_back(h.end_of(op));
    return times;
  };
  EXPECT_EQ(ends(), ends());
}

}  // namespace
}  // namespace gacer::simdevice::test
