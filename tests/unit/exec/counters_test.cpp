// SPDX-License-Identifier: Apache-2.0
// What running a block reports: the timing model's only input.
#include <gtest/gtest.h>

#include "runtime/simdevice/exec/traffic.h"
#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

BlockCounters counters_of(const std::string& body, uint32_t threads) {
  Device device;
  const auto program =
      device.load(std::string(kHeader) +
                  ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<8>; .reg .b32 %r<8>; .reg "
                  ".f32 %f<8>; .reg .f64 %g<8>; .reg .pred %p<4>;\n"
                  "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n" +
                  body + "\nret;\n}\n");
  if (program == nullptr) return {};
  const Fault fault =
      device.launch(*program, "k", shape(1, threads), Params().add(device.allocate(1 << 20)));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  return device.counters;
}

TEST(Counters, CountInstructionsByPipe) {
  // Beside the body: ld.param, mov, ret.
  const auto c = counters_of(
      "add.u32 %r2, %r1, 1; mul.f32 %f1, %f2, %f3; fma.rn.f32 %f1, %f1, %f2, %f3; add.f64 %g1, "
      "%g2, %g3; sqrt.rn.f32 %f4, %f1; bar.sync 0;",
      48);
  EXPECT_EQ(c.warp_instructions, 2u * 9);
  EXPECT_EQ(c.thread_instructions, 48u * 9);
  EXPECT_EQ(c.fp32_warp, 4u);
  EXPECT_EQ(c.fp64_warp, 2u);
  EXPECT_EQ(c.sfu_warp, 2u);
  EXPECT_EQ(c.barrier_warp, 2u);
  EXPECT_EQ(c.memory_warp, 2u);  // ld.param
  EXPECT_EQ(c.longest_warp_instructions, 9u);
}

TEST(Counters, FollowDivergence) {
  const auto c = counters_of(
      "setp.lt.u32 %p1, %r1, 8; @%p1 bra A; add.u32 %r2, %r1, 1; add.u32 %r2, %r1, 2; add.u32 %r2, "
      "%r1, 3; bra B;\nA: add.u32 %r2, %r1, 4;\nB:",
      32);
  // ld.param, mov, setp, branch, 3 + jump for 24 lanes, 1 for 8 lanes, ret.
  EXPECT_EQ(c.warp_instructions, 4u + 4 + 1 + 1);
  EXPECT_EQ(c.thread_instructions, 32u * 4 + 24 * 4 + 8 * 1 + 32);
}

TEST(Counters, CountSectorsOfEachAccess) {
  const std::string at = "mul.wide.u32 %rd2, %r1, ";
  const auto load = [&](const std::string& stride) {
    return counters_of(at + stride + "; add.u64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3];", 32);
  };
  EXPECT_EQ(load("4").global_sectors_read, 4u);
  EXPECT_EQ(load("0").global_sectors_read, 1u);
  EXPECT_EQ(load("8").global_sectors_read, 8u);
  EXPECT_EQ(load("32").global_sectors_read, 32u);
  EXPECT_EQ(load("128").global_sectors_read, 32u);
  EXPECT_EQ(load("4").unique_bytes_read, 128u);
  EXPECT_EQ(load("4").longest_warp_global_loads, 1u);
  const auto store = counters_of(
      "mul.wide.u32 %rd2, %r1, 16; add.u64 %rd3, %rd1, %rd2; st.global.v4.f32 [%rd3], "
      "{%f1,%f1,%f1,%f1}; st.global.f32 [%rd3], %f1;",
      64);
  EXPECT_EQ(store.global_sectors_written, 2u * (16 + 16));
  EXPECT_EQ(store.unique_bytes_written, 1024u);
  EXPECT_EQ(store.global_sectors_read, 0u);
}

TEST(Counters, CountSharedAndAtomics) {
  const auto c = counters_of(
      ".shared .u32 s[32]; mov.u32 %r2, s; st.shared.u32 [%r2], %r1; ld.shared.u32 %r3, [%r2]; "
      "atom.global.add.u32 %r4, [%rd1], 1; red.global.add.u32 [%rd1], 1;",
      32);
  EXPECT_EQ(c.shared_warp, 2u);
  EXPECT_EQ(c.atomics, 2u);
  EXPECT_EQ(c.memory_warp, 5u);
}

TEST(Counters, AddUp) {
  BlockCounters a, b;
  a.warp_instructions = 3, a.longest_warp_instructions = 3, a.unique_bytes_read = 32;
  b.warp_instructions = 5, b.longest_warp_instructions = 2, b.unique_bytes_read = 64;
  a.add(b);
  EXPECT_EQ(a.warp_instructions, 8u);
  EXPECT_EQ(a.longest_warp_instructions, 3u);
  EXPECT_EQ(a.unique_bytes_read, 96u);
}

TEST(Traffic, CountsDistinctSectorsOnce) {
  TrafficMeter meter;
  for (int pass = 0; pass < 3; ++pass)
    for (uint64_t at = 0; at < 64 * 128; at += 128) meter.add_range(0x1000 + at, 128, false);
  EXPECT_EQ(meter.sectors_read(), 3u * 64 * 4);
  EXPECT_EQ(meter.unique_bytes_read(), 64u * 128);
  meter.add_range(0x1000, 4, true);
  EXPECT_EQ(meter.unique_bytes_written(), 32u);
  meter.reset();
  EXPECT_EQ(meter.unique_bytes_read(), 0u);
}

TEST(Traffic, EstimatesWhatDoesNotFitItsTable) {
  TrafficMeter meter;
  const uint64_t bytes = 64u << 20;
  for (uint64_t at = 0; at < bytes; at += 128) meter.add_range(at, 128, false);
  EXPECT_NEAR(static_cast<double>(meter.unique_bytes_read()), static_cast<double>(bytes),
              bytes * 0.08);
  const uint64_t before = meter.unique_bytes_read();
  for (uint64_t at = 0; at < bytes; at += 128) meter.add_range(at, 128, false);
  EXPECT_EQ(meter.unique_bytes_read(), before);
}

}  // namespace
}  // namespace gacer::simdevice::test
