// SPDX-License-Identifier: Apache-2.0
// Blocks that wait for each other, lanes that wait for each other; kernels/together.cu.
#include <gmock/gmock.h>

#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "tests/unit/exec/grid_harness.h"

namespace gacer::simdevice::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr uint64_t kBudget = 30'000'000;

class Together : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<Program> load() { return device_.load(kernel_text("together", GetParam())); }
  GridDevice device_;
};

TEST_P(Together, AGridBarrierSeparatesRounds) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  for (unsigned threads : {1u, 3u}) {
    const uint32_t n = 24 * 64;
    const uint64_t values = device_.upload(std::vector<uint32_t>(n, 1));
    const Fault fault = device_.launch_grid(
        *program, "grid_rounds", shape(24, 64), Params().add(values).add(5),
        {.resident_blocks = 24, .cooperative = true, .threads = threads, .budget = kBudget});
    ASSERT_EQ(fault.message, "");
    EXPECT_THAT(device_.download<uint32_t>(values, n), Each(63u));
  }
}

TEST_P(Together, AGridBarrierWithoutACooperativeLaunchTraps) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  const uint64_t values = device_.upload(std::vector<uint32_t>(64, 1));
  const Fault fault = device_.launch_grid(*program, "grid_rounds", shape(2, 32),
                                          Params().add(values).add(5), {.resident_blocks = 8});
  EXPECT_EQ(fault.kind, FaultKind::kTrap) << fault.message;
}

// As NVVM-based compilers other than nvcc have it: calls of the device runtime library.
constexpr char kRuntimeCalls[] = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b64 func_retval0) cudaCGGetIntrinsicHandle(.param .b32 a);
.extern .func (.param .b32 func_retval0) cudaCGSynchronize(.param .b64 a, .param .b32 b);
.visible .entry turns(.param .u64 values, .param .u32 scope) {
  .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [values];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mov.u32 %r4, %nctaid.x; mad.lo.u32 %r4, %r4, %r2, -1;
  sub.u32 %r4, %r4, %r1;
  mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd1, %rd2;
  mul.wide.u32 %rd3, %r4, 8; add.u64 %rd3, %rd1, %rd3;
  st.global.u32 [%rd2], %r1;
  { .param .b32 p0; .param .b64 q0; ld.param.u32 %r5, [scope]; st.param.b32 [p0], %r5;
    call.uni (q0), cudaCGGetIntrinsicHandle, (p0); ld.param.b64 %rd4, [q0]; }
  { .param .b64 p0; .param .b32 p1; .param .b32 q0; st.param.b64 [p0], %rd4; st.param.b32 [p1], 0;
    call.uni (q0), cudaCGSynchronize, (p0, p1); ld.param.b32 %r6, [q0]; }
  ld.global.u32 %r7, [%rd3];
  shl.b32 %r6, %r6, 16; add.u32 %r7, %r7, %r6;
  st.global.u32 [%rd2+4], %r7;
  ret;
})";

TEST(DeviceRuntime, ItsGridBarrierWaitsForAllBlocks) {
  GridDevice device;
  const auto program = device.load(kRuntimeCalls);
  ASSERT_NE(program, nullptr);
  EXPECT_TRUE(program->kernels()[0].uses_grid_barrier);
  const uint32_t n = 12 * 40;
  for (unsigned threads : {1u, 3u}) {
    const uint64_t values = device.upload(std::vector<uint32_t>(2 * n, 0));
    const Fault fault = device.launch_grid(
        *program, "turns", shape(12, 40), Params().add(values).add(1),
        {.resident_blocks = 12, .cooperative = true, .threads = threads, .budget = kBudget});
    ASSERT_EQ(fault.message, "");
    const auto out = device.download<uint32_t>(values, 2 * n);
    for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(out[2 * i + 1], n - 1 - i) << i;
  }
}

TEST(DeviceRuntime, AGridBarrierWithoutAGridIsAnError) {
  constexpr uint32_t kInvalidValue = 1;
  GridDevice device;
  const auto program = device.load(kRuntimeCalls);
  ASSERT_NE(program, nullptr);
  for (const auto& [cooperative, scope] : {std::pair{false, 1}, std::pair{true, 2}}) {
    const uint64_t values = device.upload(std::vector<uint32_t>(2, 0));
    const Fault fault =
        device.launch_grid(*program, "turns", shape(1, 1), Params().add(values).add(scope),
                           {.cooperative = cooperative, .budget = kBudget});
    ASSERT_EQ(fault.message, "");
    EXPECT_EQ(device.download<uint32_t>(values, 2)[1], kInvalidValue << 16);
  }
}

TEST_P(Together, AGridThatDoesNotFitHangs) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  const uint64_t values = device_.upload(std::vector<uint32_t>(24 * 32, 1));
  const Fault fault =
      device_.launch_grid(*program, "grid_rounds", shape(24, 32), Params().add(values).add(5),
                          {.resident_blocks = 23, .cooperative = true, .budget = 200'000});
  EXPECT_EQ(fault.kind, FaultKind::kTimeout);
  EXPECT_THAT(fault.message, HasSubstr("waits for memory that nobody changes"));
}

TEST_P(Together, AChainedScanWaitsForEarlierBlocks) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  const uint32_t blocks = 100, n = blocks * 128;
  std::vector<uint32_t> in(n), sums(n);
  std::iota(in.begin(), in.end(), 3u);
  std::partial_sum(in.begin(), in.end(), sums.begin());
  const uint64_t input = device_.upload(in), output = device_.allocate(n * 4),
                 flags = device_.allocate(blocks * 4), partial = device_.allocate(blocks * 4);
  const Fault fault = device_.launch_grid(*program, "chained_scan", shape(blocks, 128),
                                          Params().add(input).add(output).add(flags).add(partial),
                                          {.resident_blocks = 4, .threads = 2, .budget = kBudget});
  ASSERT_EQ(fault.message, "");
  EXPECT_EQ(device_.download<uint32_t>(output, n), sums);
}

TEST_P(Together, BlocksWaitForALaterOneThatIsResident) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  for (uint64_t resident : {40, 39}) {
    const uint64_t flag = device_.upload(std::vector<uint32_t>{0}),
                   out = device_.allocate(40 * 32 * 4);
    const Fault fault =
        device_.launch_grid(*program, "last_is_first", shape(40, 32), Params().add(flag).add(out),
                            {.resident_blocks = resident, .budget = 100'000});
    if (resident == 40) {
      ASSERT_EQ(fault.message, "");
      EXPECT_THAT(device_.download<uint32_t>(out, 40 * 32), Each(7u));
    } else {
      EXPECT_EQ(fault.kind, FaultKind::kTimeout);
    }
  }
}

TEST_P(Together, LanesOfAWarpTakeALockInTurns) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  for (const char* kernel : {"lane_lock", "lane_lock_inner"}) {
    const uint64_t lock = device_.upload(std::vector<uint32_t>{0}),
                   count = device_.upload(std::vector<uint32_t>{0});
    const Fault fault =
        device_.launch_grid(*program, kernel, shape(6, 96), Params().add(lock).add(count),
                            {.resident_blocks = 6, .threads = 2, .budget = kBudget});
    ASSERT_EQ(fault.message, "") << kernel;
    EXPECT_EQ(device_.download<uint32_t>(count, 1)[0], 6u * 96) << kernel;
  }
}

TEST_P(Together, LanesOfAWarpPassItemsToEachOther) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  const uint64_t slot = device_.upload(std::vector<uint32_t>{0}), out = device_.allocate(4);
  const Fault fault = device_.launch_grid(*program, "lane_pipe", shape(1, 32),
                                          Params().add(slot).add(out).add(50), {.budget = kBudget});
  ASSERT_EQ(fault.message, "");
  EXPECT_EQ(device_.download<uint32_t>(out, 1)[0], 1275u);
}

int expected_sum(const std::vector<int>& in, int from, int to) {
  return std::accumulate(in.begin() + from, in.begin() + to, 0);
}

TEST_P(Together, CooperativeGroupsOfEveryKind) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[static_cast<size_t>(i)] = (i * 37 + 11) % 101;
  const uint64_t input = device_.upload(in), output = device_.allocate(64 * 8 * 4);
  const Fault fault = device_.launch_grid(*program, "groups", shape(1, 64),
                                          Params().add(input).add(output), {.budget = kBudget});
  ASSERT_EQ(fault.message, "");
  const auto out = device_.download<int>(output, 64 * 8);
  for (int i = 0; i < 64; ++i) {
    const int tile = i / 8 * 8, warp = i / 32 * 32, four = i / 4 * 4;
    int label_size = 0, label_rank = 0, parity_max = 0, active = 0, active_rank = 0, leader = -1;
    for (int k = warp; k < warp + 32; ++k) {
      const bool same = in[k] % 3 == in[i] % 3;
      label_size += same;
      label_rank += same && k < i;
      if (in[k] % 2 == in[i] % 2) parity_max = std::max(parity_max, in[k]);
      if (k % 5 >= 2) continue;
      if (leader < 0) leader = in[k];
      ++active;
      active_rank += k < i;
    }
    int any = 0, all = 1, ballot = 0;
    for (int k = four; k < four + 4; ++k) {
      any |= in[k] > 50;
      all &= in[k] > 10;
      ballot |= (in[k] % 2) << (k - four);
    }
    const int* row = &out[static_cast<size_t>(i) * 8];
    EXPECT_EQ(row[0], expected_sum(in, tile, tile + 8)) << i;
    EXPECT_EQ(row[1], expected_sum(in, tile, i)) << i;
    EXPECT_EQ(row[2], label_size * 1000 + label_rank) << i;
    EXPECT_EQ(row[3], parity_max) << i;
    EXPECT_EQ(row[4], i % 5 < 2 ? active * 1000 + active_rank : -1) << i;
    EXPECT_EQ(row[5], i % 5 < 2 ? leader : -1) << i;
    EXPECT_EQ(row[6], any + 2 * all) << i;
    EXPECT_EQ(row[7], ballot * 100 + i % 32 / 4) << i;
  }
}

TEST_P(Together, PartsOfAWarpSynchroniseByThemselves) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  const uint64_t out = device_.allocate(32 * 4);
  const Fault fault = device_.launch_grid(*program, "half_syncs", shape(1, 32), Params().add(out),
                                          {.budget = kBudget});
  ASSERT_EQ(fault.message, "");
  const auto words = device_.download<int>(out, 32);
  for (int lane = 0; lane < 32; ++lane) {
    const int from = (lane & 16) + (lane + 5) % 16;
    EXPECT_EQ(words[static_cast<size_t>(lane)], from % 16 < 5 ? from + 1 : from < 16 ? 100 : 200);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Together, ::testing::Values("75", "80", "90"));

}  // namespace
}  // namespace gacer::simdevice::test
