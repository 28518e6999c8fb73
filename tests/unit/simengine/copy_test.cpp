// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/engine/timing.h"
#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

constexpr uint64_t kBytes = 25'000'000;  // a millisecond at 25 GB/s

TEST(Copies, TakeTheTimeOfTheLink) {
  Harness h;
  const OpId pinned = h.copy(h.stream(h.client(true)), OpKind::kCopyToDevice, kBytes);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(pinned)), 1e6 + kCopySetupNs, 2);
  const OpId pageable = h.copy(h.stream(h.client(true)), OpKind::kCopyToDevice, kBytes, false);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(pageable)), 1e6 / kPageableRate + kCopySetupNs, 2);
}

TEST(Copies, OverlapKernelsAndTheOtherDirection) {
  Harness h;
  const uint32_t client = h.client(true);
  const OpId kernel = h.kernel(h.stream(client), 216, 1e6);
  const OpId in = h.copy(h.stream(client), OpKind::kCopyToDevice, kBytes);
  const OpId out = h.copy(h.stream(client), OpKind::kCopyToHost, kBytes);
  ASSERT_TRUE(h.run_dry());
  EXPECT_TRUE(overlap(h, kernel, in));
  EXPECT_TRUE(overlap(h, in, out));
  EXPECT_NEAR(static_cast<double>(h.duration_of(in)), 1e6 + kCopySetupNs, 2);
}

TEST(Copies, OfOneDirectionFollowEachOther) {
  Harness h;
  const OpId a = h.copy(h.stream(h.client(true)), OpKind::kCopyToDevice, kBytes);
  const OpId b = h.copy(h.stream(h.client(false)), OpKind::kCopyToDevice, kBytes);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GE(h.start_of(b), h.end_of(a));
}

TEST(Copies, AMemsetSharesDramWithAStreamingKernel) {
  Harness h;
  const uint32_t client = h.client(true);
  const OpId alone = h.copy(h.stream(client), OpKind::kMemset, 1'000'000'000);
  ASSERT_TRUE(h.run_dry());
  KernelCost cost;
  cost.threads = 512;
  cost.alone_ns = 1e6;
  cost.dram_bytes = h.device.spec.dram_bytes_per_ns * 1e6 / h.device.spec.sm_count;
  h.kernel_of(h.stream(client), 108 * 10, cost);
  const OpId shared = h.copy(h.stream(client), OpKind::kMemset, 1'000'000'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GT(h.duration_of(shared), 2 * h.duration_of(alone));
}

TEST(Copies, GoOnWhileContextsAreSwitched) {
  Harness h;
  h.kernel(h.stream(h.client(false)), 216, 2e7);
  h.kernel(h.stream(h.client(false)), 216, 2e7);
  const OpId on_device = h.copy(h.stream(h.client(false)), OpKind::kCopyOnDevice, 1ULL << 30);
  const OpId in = h.copy(h.stream(h.client(false)), OpKind::kCopyToDevice, kBytes);
  ASSERT_TRUE(h.run_dry());
  EXPECT_NEAR(static_cast<double>(h.duration_of(in)), 1e6 + kCopySetupNs, 2);
  const double rate = h.device.spec.dram_bytes_per_ns * h.device.memory.dram_efficiency;
  EXPECT_LT(static_cast<double>(h.duration_of(on_device)), 2.0 * (1ULL << 30) / rate / 0.85 * 1.01);
}

}  // namespace
}  // namespace gacer::simdevice::test
