// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/sm_share.h"

#include <gtest/gtest.h>

namespace gacer::regulator {
namespace {

constexpr DeviceShape kA100{108, 2048, 65536, 167936, 32};

LaunchEvent launch(uint64_t blocks, uint32_t threads, uint32_t regs = 0, uint32_t smem = 0) {
  LaunchEvent event;
  event.blocks = blocks;
  event.block_threads = threads;
  event.regs_per_thread = regs;
  event.smem_bytes = smem;
  return event;
}

TEST(SmShare, ThreadsLimitTheBlocksOfAnSm) {
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(16, 1024)), 8.0 / 108);  // 2 blocks an SM
}

TEST(SmShare, RegistersLimit) {
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(16, 256, 255)), 16.0 / 108);  // 65280 registers a block
}

TEST(SmShare, SharedMemoryLimits) {
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(10, 32, 16, 80 * 1024)), 5.0 / 108);
}

TEST(SmShare, TheNumberOfBlocksLimits) {
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(64, 32, 16)), 2.0 / 108);
}

TEST(SmShare, AGridThatFillsTheDeviceIsOne) {
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(1'000'000, 256)), 1.0);
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX)), 1.0);
}

TEST(SmShare, WhatIsUnknownIsTheWholeDevice) {
  EXPECT_DOUBLE_EQ(sm_share({}, launch(1, 32)), 1.0);
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(0, 32)), 1.0);
  EXPECT_DOUBLE_EQ(sm_share(kA100, launch(32, 0)), 1.0);
}

}  // namespace
}  // namespace gacer::regulator
