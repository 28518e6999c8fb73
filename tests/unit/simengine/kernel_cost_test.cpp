// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/simdevice/engine/fair_share.h"
#include "runtime/simdevice/engine/timing.h"
#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

TEST(FairShare, MeetsSmallDemandsAndLevelsTheRest) {
  const std::vector<Demand> demands{{1, 1}, {5, 1}, {9, 1}};
  EXPECT_TRUE(std::isinf(fair_level(demands, 15)));
  EXPECT_DOUBLE_EQ(fair_level(demands, 9), 4.0);  // 1 + 4 + 4
  EXPECT_DOUBLE_EQ(fair_level(demands, 3), 1.0);
}

TEST(FairShare, WeighsTheRest) {
  const std::vector<Demand> demands{{10, 3}, {10, 1}};
  EXPECT_DOUBLE_EQ(fair_level(demands, 8), 2.0);  // 6 + 2
}

TEST(KernelCost, DenseArithmeticReachesThePeakRate) {
  // Given a full A100 of blocks that issue nothing but fused multiply-adds from enough warps.
  Harness h;
  BlockCounters counters;
  counters.warp_instructions = 8 * 100'000;
  counters.fp32_warp = counters.warp_instructions;
  counters.longest_warp_instructions = 100'000;
  const uint64_t blocks = 108 * 8;
  const KernelCost cost = kernel_cost(h.device, {256, 32, 0, blocks, 0}, counters, 1);
  const OpId op = h.kernel_of(h.stream(h.client(true)), blocks, cost);
  ASSERT_TRUE(h.run_dry());
  // Then the rate is the 19.5 TFLOP/s of the datasheet.
  const double flops =
      static_cast<double>(blocks) * 800'000 * 32 * 2 / static_cast<double>(h.duration_of(op));
  EXPECT_NEAR(flops / 1000, 19.5, 0.2);
}

TEST(KernelCost, AStreamingKernelReachesTheSustainedBandwidth) {
  // Given a copy of 256 MiB, one float4 a thread.
  Harness h;
  BlockCounters counters;
  counters.warp_instructions = 8 * 20;
  counters.longest_warp_instructions = 20;
  counters.longest_warp_global_loads = 1;
  counters.memory_warp = 16;
  counters.global_sectors_read = 128;
  counters.global_sectors_written = 128;
  counters.unique_bytes_read = 4096;
  counters.unique_bytes_written = 4096;
  const uint64_t blocks = 65536;
  const KernelCost cost = kernel_cost(h.device, {256, 16, 0, blocks, 0}, counters, 1);
  const OpId op = h.kernel_of(h.stream(h.client(true)), blocks, cost);
  ASSERT_TRUE(h.run_dry());
  const double rate = 2.0 * 4096 * blocks / static_cast<double>(h.duration_of(op));
  EXPECT_GT(rate, 0.8 * h.device.spec.dram_bytes_per_ns);
  EXPECT_LE(rate, h.device.spec.dram_bytes_per_ns);
}

TEST(KernelCost, BytesReadByManyBlocksComeFromDramOnce) {
  // Given 1000 blocks that read the same MiB.
  Harness h;
  BlockCounters counters;
  counters.unique_bytes_read = 1 << 20;
  const KernelCost shared = kernel_cost(h.device, {256, 16, 0, 1000, 1 << 20}, counters, 1);
  const KernelCost unknown = kernel_cost(h.device, {256, 16, 0, 1000, 0}, counters, 1);
  EXPECT_NEAR(shared.dram_bytes * 1000, 1 << 20, 1);
  EXPECT_NEAR(unknown.dram_bytes * 1000, 1000.0 * (1 << 20), 1000);
}

TEST(KernelCost, FewWarpsCannotFillAnSm) {
  // Given one warp of dependent instructions alone on an SM.
  Harness h;
  BlockCounters counters;
  counters.warp_instructions = 100'000;
  counters.longest_warp_instructions = 100'000;
  const KernelCost cost = kernel_cost(h.device, {32, 16, 0, 1, 0}, counters, 1);
  const double clock_ns = 1000.0 / h.device.spec.clock_mhz;
  EXPECT_GE(cost.alone_ns, 100'000 * kDependentIssueClocks * clock_ns);
}

TEST(DeviceModels, AreFoundByKeyInAnyCase) {
  ASSERT_NE(find_device_model(""), nullptr);
  EXPECT_EQ(find_device_model("")->spec.key, "A100");
  EXPECT_EQ(find_device_model("h200"), find_device_model("H200"));
  EXPECT_EQ(find_device_model("V1000"), nullptr);
  EXPECT_EQ(device_model_keys(), "V100, TITANV, A100, H100, H200, L4, Orin");
}

TEST(DeviceModels, AgreeWithTheDatasheetThroughput) {
  // fp32 TFLOP/s of the datasheets.
  const std::pair<const char*, double> kPeak[] = {{"V100", 15.7}, {"TITANV", 14.9}, {"A100", 19.5},
                                                  {"H100", 67},   {"H200", 67},     {"L4", 30.3},
                                                  {"Orin", 5.3}};
  for (const auto& [key, tflops] : kPeak) {
    const DeviceModel& model = *find_device_model(key);
    const double computed =
        model.spec.sm_count * model.pipes.fp32 * 32 * 2 * model.spec.clock_mhz / 1e6;
    EXPECT_NEAR(computed / tflops, 1.0, 0.02) << key;
  }
}

}  // namespace
}  // namespace gacer::simdevice::test
