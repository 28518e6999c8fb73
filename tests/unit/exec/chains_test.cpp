// SPDX-License-Identifier: Apache-2.0
// Chains of dependent operations, reuse distances, and the clock of a warp.
#include <gtest/gtest.h>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

BlockCounters run(const std::string& body, uint32_t threads = 32) {
  Device device;
  const auto program = device.load(
      std::string(kHeader) +
      ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .f32 %f<16>; "
      ".reg .f64 %g<16>; .reg .pred %p<4>;\nld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n" +
      body + "\nret;\n}\n");
  if (program == nullptr) return {};
  const Fault fault =
      device.launch(*program, "k", shape(1, threads), Params().add(device.allocate(1 << 20)));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  return device.counters;
}

double chain(const BlockCounters& counters, Latency latency) {
  return static_cast<double>(counters.chain[static_cast<size_t>(latency)]) / 16;
}

// 1000 rounds.
std::string loop(const std::string& body) {
  return "mov.u32 %r9, 0;\nL: " + body +
         " add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 1000; @%p1 bra L;";
}

TEST(Chains, CountWhatWaitsForEachOther) {
  const auto dependent = run(loop("mul.f64 %g1, %g1, %g2; mul.f64 %g1, %g1, %g2;"));
  EXPECT_NEAR(chain(dependent, Latency::kFp64), 2000, 10);
  const auto independent =
      run(loop("mul.f64 %g1, %g1, %g3; mul.f64 %g2, %g2, %g3; mul.f64 %g1, %g1, %g3; mul.f64 %g2, "
               "%g2, %g3;"));
  EXPECT_NEAR(chain(independent, Latency::kFp64), 2000, 10);
}

TEST(Chains, LoadsThatDoNotDependAreOneRound) {
  const auto side_by_side =
      run(loop("ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+128]; add.f32 %f3, %f1, %f2; "
               "add.f32 %f4, %f4, %f3;"));
  EXPECT_NEAR(chain(side_by_side, Latency::kGlobal), 1000, 10);
  const auto chased =
      run(loop("ld.global.u64 %rd2, [%rd1]; add.u64 %rd3, %rd1, %rd2; "
               "ld.global.u64 %rd2, [%rd3]; add.u64 %rd1, %rd3, %rd2;"));
  EXPECT_NEAR(chain(chased, Latency::kGlobal), 2000, 10);
}

TEST(Chains, ALoadBehindAStoreWaitsForIt) {
  const std::string copy = "ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd1+512], %f1; ";
  EXPECT_NEAR(chain(run(loop(copy + copy)), Latency::kGlobal), 2000, 10);
}

TEST(Reuse, IsMeasuredInWhatAllWarpsTouch) {
  // Two warps that each go through 4 KiB of their own, ten times.
  const auto c = run(
      "mul.wide.u32 %rd2, %r1, 128; add.u64 %rd1, %rd1, %rd2; mov.u32 %r2, 0;\n"
      "A: ld.global.f32 %f1, [%rd1]; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 10; @%p1 bra A;",
      64);
  uint64_t sectors = 0, distance = 0;
  for (const ReuseBucket& bucket : c.reuse) {
    sectors += bucket.read_sectors;
    distance += bucket.distance;
  }
  EXPECT_EQ(sectors, 64u * 9);
  // Lines of a warp: 32 sectors of its own in between, as many of the other warp's.
  EXPECT_NEAR(static_cast<double>(distance) / static_cast<double>(sectors), 64, 32);
}

TEST(WarpClock, SleepTakesTheTimeItAsksFor) {
  const auto c = run("mov.u32 %r2, 1000;\n" + loop("nanosleep.u32 %r2;"));
  EXPECT_GE(c.longest_warp_sleep_ns, 1'000'000u);
  EXPECT_LE(c.longest_warp_sleep_ns, 1'030'000u);
}

TEST(WarpClock, WaitingForATimeEndsInModelTime) {
  const auto c =
      run("mov.u64 %rd2, %globaltimer; add.u64 %rd2, %rd2, 50000000;\n"
          "W: mov.u64 %rd3, %globaltimer; setp.lt.u64 %p1, %rd3, %rd2; @%p1 bra W;");
  EXPECT_GE(c.longest_warp_sleep_ns, 49'000'000u);
  EXPECT_LE(c.longest_warp_sleep_ns, 51'000'000u);
  EXPECT_LT(c.warp_instructions, 100'000u);
}

TEST(WarpClock, MeasuringWorkIsNoWait) {
  const auto c =
      run(loop("mov.u64 %rd4, %clock64; ld.global.f32 %f1, [%rd1]; mov.u64 %rd5, %clock64;"));
  EXPECT_EQ(c.longest_warp_sleep_ns, 0u);
}

}  // namespace
}  // namespace gacer::simdevice::test
