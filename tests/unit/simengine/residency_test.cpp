// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/simdevice/engine/kernel_cost.h"
#include "runtime/simdevice/engine/sm_array.h"
#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

KernelCost cost_of(const DeviceModel& device, uint32_t threads, uint32_t regs, uint32_t smem) {
  return kernel_cost(device, {threads, regs, smem, 1, 0}, {}, 1);
}

TEST(Residency, AgreesWithTheOccupancyCalculator) {
  // Given the A100; expected values: CUDA occupancy calculator for compute capability 8.0.
  const DeviceModel& a100 = *find_device_model("A100");
  EXPECT_EQ(blocks_per_sm(a100.spec, cost_of(a100, 1024, 32, 0)), 2U);     // threads
  EXPECT_EQ(blocks_per_sm(a100.spec, cost_of(a100, 32, 16, 0)), 32U);      // block slots
  EXPECT_EQ(blocks_per_sm(a100.spec, cost_of(a100, 256, 128, 0)), 2U);     // registers
  EXPECT_EQ(blocks_per_sm(a100.spec, cost_of(a100, 256, 33, 0)), 6U);      // 33 -> 40 a thread
  EXPECT_EQ(blocks_per_sm(a100.spec, cost_of(a100, 128, 32, 49152)), 3U);  // 48 + 1 KiB of 164
  EXPECT_EQ(blocks_per_sm(a100.spec, cost_of(a100, 128, 32, 166912)), 1U);
  EXPECT_EQ(blocks_per_sm(a100.spec, cost_of(a100, 128, 32, 167936)),
            0U);  // above the opt-in limit
}

TEST(Residency, VoltaHasNoReservedSharedMemory) {
  const DeviceModel& v100 = *find_device_model("V100");
  EXPECT_EQ(blocks_per_sm(v100.spec, cost_of(v100, 128, 32, 49152)), 2U);
  EXPECT_EQ(blocks_per_sm(v100.spec, cost_of(v100, 128, 32, 98304)), 1U);
}

TEST(Residency, ABlockOverTheWholeDeviceRunsInWaves) {
  // Given blocks of which two fit on an SM.
  Harness h;
  const uint32_t s = h.stream(h.client(true));
  const uint64_t per_wave = 2 * h.device.spec.sm_count;
  // When a kernel has one block more than three waves hold.
  const OpId op = h.kernel(s, 3 * per_wave + 1, 10'000, 1024);
  ASSERT_TRUE(h.run_dry());
  // Then it takes four waves.
  EXPECT_NEAR(static_cast<double>(h.duration_of(op)), 40'000, 4 * 128 + 1);
}

TEST(Residency, BlocksGoToTheEmptiestSmsFirst) {
  // Given one kernel that fills half of the SMs with a block each.
  Harness h;
  const uint32_t client = h.client(true);
  const uint32_t half = h.device.spec.sm_count / 2;
  h.kernel(h.stream(client), half, 1e6, 512);
  h.advance_to(100'000);
  // When another of as many blocks comes.
  h.kernel(h.stream(client), half, 1e6, 512);
  h.advance_to(200'000);
  // Then no SM holds two.
  for (const Sm& sm : h.engine.active_sms()->sms()) EXPECT_EQ(sm.usage().blocks, 1U);
}

TEST(Residency, AnActiveThreadPercentageLimitsTheSmsOfOneClient) {
  // Given two MPS clients, one capped to 20 SMs.
  Harness h;
  const uint32_t capped = h.client(true, 20);
  const uint32_t open = h.client(true);
  h.kernel(h.stream(capped), 1000, 1e5, 1024);
  h.advance_to(50'000);
  // When the other one's blocks come later.
  h.kernel(h.stream(open), 1000, 1e5, 1024);
  h.advance_to(70'000);
  uint32_t capped_sms = 0;
  uint32_t open_sms = 0;
  for (const Sm& sm : h.engine.active_sms()->sms()) {
    capped_sms += sm.threads_of(capped) > 0;
    open_sms += sm.threads_of(open) > 0;
  }
  // Then the capped one holds 20 SMs and the other one the rest.
  EXPECT_EQ(capped_sms, 20U);
  EXPECT_EQ(open_sms, h.device.spec.sm_count - 20);
  // And later too.
  h.advance_to(700'000);
  capped_sms = 0;
  for (const Sm& sm : h.engine.active_sms()->sms()) capped_sms += sm.threads_of(capped) > 0;
  EXPECT_LE(capped_sms, 20U);
  EXPECT_TRUE(h.run_dry());
}

}  // namespace
}  // namespace gacer::simdevice::test
