// SPDX-License-Identifier: Apache-2.0
// Operations across the lanes of a warp, and barriers across the warps of a block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

// Every thread runs the body on %r1 (its linear index) and leaves a result in %r2.
std::string kernel(const std::string& body) {
  return std::string(kHeader) + R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<8>; .reg .b32 %r<32>; .reg .pred %p<8>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
)" + body +
         R"(
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r2;
  ret;
})";
}

std::vector<uint32_t> run(const std::string& body, uint32_t threads, Fault* fault = nullptr,
                          uint64_t budget = 1'000'000) {
  Device device;
  const auto program = device.load(kernel(body));
  if (program == nullptr) return {};
  const uint64_t out = device.allocate(threads * 4);
  const Fault result = device.launch(*program, "k", shape(1, threads), Params().add(out), budget);
  if (fault != nullptr) {
    *fault = result;
  } else {
    EXPECT_EQ(result.kind, FaultKind::kNone) << result.message;
  }
  return device.download<uint32_t>(out, threads);
}

struct LaneCase {
  const char* body;
  std::function<uint32_t(uint32_t lane)> expected;
};
class AcrossLanes : public testing::TestWithParam<LaneCase> {};

TEST_P(AcrossLanes, GivesEachLaneItsValue) {
  const auto out = run(GetParam().body, 64);
  ASSERT_EQ(out.size(), 64u);
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], GetParam().expected(t)) << GetParam().body << " thread " << t;
}

INSTANTIATE_TEST_SUITE_P(
    Shuffle, AcrossLanes,
    testing::Values(
        LaneCase{"shfl.sync.bfly.b32 %r2, %r1, 5, 31, -1;", [](uint32_t x) { return x ^ 5; }},
        LaneCase{"shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, 0xffffffff; @!%p1 mov.u32 %r2, 99;",
                 [](uint32_t x) { return x % 32 < 3 ? 99 : x - 3; }},
        LaneCase{"shfl.sync.down.b32 %r2|%p1, %r1, 3, 31, -1; @!%p1 add.u32 %r2, %r2, 100;",
                 [](uint32_t x) { return x % 32 + 3 > 31 ? x + 100 : x + 3; }},
        LaneCase{"shfl.sync.idx.b32 %r2, %r1, 7, 31, -1;",
                 [](uint32_t x) { return x / 32 * 32 + 7; }},
        // Segments of eight lanes: c = (32 - 8) << 8 | 31.
        LaneCase{"shfl.sync.idx.b32 %r2, %r1, 2, 0x181f, -1;",
                 [](uint32_t x) { return x / 8 * 8 + 2; }},
        LaneCase{"shfl.sync.down.b32 %r2, %r1, 4, 0x181f, -1;",
                 [](uint32_t x) { return x % 8 + 4 > 7 ? x : x + 4; }},
        LaneCase{"shfl.sync.up.b32 %r2, %r1, 4, 0x1800, -1;",
                 [](uint32_t x) { return x % 8 < 4 ? x : x - 4; }},
        LaneCase{"not.b32 %r3, %r1; shfl.sync.idx.b32 %r2, %r1, %r3, 31, -1;",
                 [](uint32_t x) { return x / 32 * 32 + (31 - x % 32); }},
        LaneCase{"setp.lt.u32 %p1, %r1, 4; @%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xf;",
                 [](uint32_t x) { return x < 4 ? x ^ 1 : 0; }}));

INSTANTIATE_TEST_SUITE_P(
    Votes, AcrossLanes,
    testing::Values(
        LaneCase{"and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; vote.sync.ballot.b32 %r2, %p1, -1;",
                 [](uint32_t) { return 0xaaaaaaaa; }},
        LaneCase{
            "setp.lt.u32 %p1, %r1, 40; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r2, 1, 0, %p2;",
            [](uint32_t x) { return x < 32; }},
        LaneCase{
            "setp.eq.u32 %p1, %r1, 40; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r2, 1, 0, %p2;",
            [](uint32_t x) { return x >= 32; }},
        LaneCase{
            "setp.lt.u32 %p1, %r1, 32; vote.sync.uni.pred %p2, !%p1, -1; selp.u32 %r2, 1, 0, %p2;",
            [](uint32_t) { return 1; }},
        LaneCase{"activemask.b32 %r2;", [](uint32_t) { return 0xffffffff; }},
        LaneCase{
            "and.b32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 1; @!%p1 bra L; activemask.b32 %r2;\nL:",
            [](uint32_t x) { return x % 4 == 1 ? 0x22222222 : 0; }},
        LaneCase{"and.b32 %r3, %r1, 3; match.any.sync.b32 %r2, %r3, -1;",
                 [](uint32_t x) { return 0x11111111u << x % 4; }},
        LaneCase{"shr.u32 %r3, %r1, 5; match.all.sync.b32 %r2|%p1, %r3, -1; @!%p1 mov.u32 %r2, 1;",
                 [](uint32_t) { return 0xffffffff; }},
        LaneCase{"match.all.sync.b32 %r2|%p1, %r1, -1; @!%p1 add.u32 %r2, %r2, 1;",
                 [](uint32_t) { return 1; }},
        LaneCase{"redux.sync.add.u32 %r2, %r1, -1;",
                 [](uint32_t x) { return x < 32 ? 496 : 1520; }},
        LaneCase{"sub.s32 %r3, %r1, 35; redux.sync.min.s32 %r2, %r3, -1;",
                 [](uint32_t x) { return x < 32 ? uint32_t(-35) : uint32_t(-3); }},
        LaneCase{"redux.sync.max.u32 %r2, %r1, -1;", [](uint32_t x) { return x < 32 ? 31 : 63; }},
        LaneCase{"redux.sync.xor.b32 %r2, %r1, -1;", [](uint32_t) { return 0; }},
        LaneCase{"mov.u32 %r3, %lanemask_lt; mov.u32 %r4, %laneid; mov.u32 %r5, %warpid; popc.b32 "
                 "%r2, %r3; sub.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5;",
                 [](uint32_t x) { return x / 32; }}));

INSTANTIATE_TEST_SUITE_P(
    Barriers, AcrossLanes,
    testing::Values(
        // Each warp writes, the other reads after the barrier.
        LaneCase{".shared .u32 s[64]; mov.u32 %r3, s; mad.lo.u32 %r4, %r1, 4, %r3; st.shared.u32 "
                 "[%r4], %r1; barrier.sync 3; xor.b32 %r5, %r1, 32;"
                 "mad.lo.u32 %r6, %r5, 4, %r3; ld.shared.u32 %r2, [%r6];",
                 [](uint32_t x) { return x ^ 32; }},
        LaneCase{"setp.lt.u32 %p1, %r1, 10; bar.red.popc.u32 %r2, 0, %p1;",
                 [](uint32_t) { return 10; }},
        LaneCase{"setp.lt.u32 %p1, %r1, 10; bar.red.and.pred %p2, 0, %p1; selp.u32 %r2, 1, 2, %p2;",
                 [](uint32_t) { return 2; }},
        LaneCase{"setp.lt.u32 %p1, %r1, 10; bar.red.or.pred %p2, 0, !%p1; selp.u32 %r2, 1, 2, %p2;",
                 [](uint32_t) { return 1; }},
        // Producer and consumer on a named barrier of 64 threads.
        LaneCase{".shared .u32 s[32]; mov.u32 %r3, s; and.b32 %r7, %r1, 31; mad.lo.u32 %r4, %r7, "
                 "4, %r3; setp.lt.u32 %p1, %r1, 32; @%p1 bra C;"
                 "st.shared.u32 [%r4], %r1; bar.arrive 1, 64; bra E;\nC: bar.sync 1, 64; "
                 "ld.shared.u32 %r2, [%r4];\nE:",
                 [](uint32_t x) { return x < 32 ? x + 32 : 0; }},
        // Threads that have ended do not count.
        LaneCase{"setp.lt.u32 %p1, %r1, 7; @%p1 bra G; setp.gt.u32 %p2, %r1, 9999; @%p2 exit;\nG: "
                 "bar.sync 0; mov.u32 %r2, 5;",
                 [](uint32_t) { return 5; }},
        // A barrier under divergence, met by all lanes at two places.
        LaneCase{".shared .u32 s[64]; mov.u32 %r3, s; mad.lo.u32 %r4, %r1, 4, %r3; st.shared.u32 "
                 "[%r4], %r1; and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0;"
                 "@%p1 bra A; bar.sync 0; bra B;\nA: bar.sync 0;\nB: sub.u32 %r6, 63, %r1; "
                 "mad.lo.u32 %r6, %r6, 4, %r3; ld.shared.u32 %r2, [%r6];",
                 [](uint32_t x) { return 63 - x; }},
        LaneCase{"bar.warp.sync 0xffffffff; mov.u32 %r2, 3;", [](uint32_t) { return 3; }},
        // The two halves meet at one warp barrier from different blocks.
        LaneCase{"and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; mov.u32 %r2, 1; @%p1 bra A; "
                 "add.u32 %r2, %r2, 1; bra S;\nA: add.u32 %r2, %r2, 5;\n"
                 "S: bar.warp.sync -1; shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;",
                 [](uint32_t x) { return x % 2 == 0 ? 2 : 6; }}));

TEST(WarpSync, MeetsLanesThatComeLaterByAnotherPath) {
  // Odd lanes reach the shuffle in the first trip of a loop, even ones in the second: the first
  // wait.
  const auto out =
      run("and.b32 %r3, %r1, 1; mov.u32 %r4, 0;\n"
          "LOOP: setp.eq.u32 %p1, %r3, 1; @%p1 bra SYNC; mov.u32 %r3, 1; bra LOOP;\n"
          "SYNC: shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;",
          32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t ^ 1);
}

// Two lanes take a way of their own and wait there for the whole warp or block; the others are
// where the ways join, and end.
class OneSided : public testing::TestWithParam<const char*> {};

TEST_P(OneSided, WaitsForLanesThatOnlyEnd) {
  const auto out = run(std::string("setp.ge.u32 %p1, %r1, 2; mov.u32 %r2, 1; @%p1 bra E; ") +
                           GetParam() + " mov.u32 %r2, 7;\nE:",
                       64);
  ASSERT_EQ(out.size(), 64u);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], t < 2 ? 7u : 1u) << t;
}

INSTANTIATE_TEST_SUITE_P(Waits, OneSided,
                         testing::Values("bar.warp.sync -1;", "barrier.sync 0;",
                                         "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;"));

TEST(WarpSync, FaultsWhenLanesNeverCome) {
  Fault fault;
  run("and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; @%p1 bra X; bar.warp.sync 0x3; bra E;\nX: "
      "bar.sync 0;\nE: bar.warp.sync -1; bar.sync 0;",
      32, &fault);
  EXPECT_EQ(fault.kind, FaultKind::kTimeout);
  EXPECT_THAT(fault.message, testing::HasSubstr("kernel k, block (0,0,0), thread"));
}

TEST(Barrier, FaultsWhenItIsNeverComplete) {
  Fault fault;
  run("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1; bra E;\nA: bar.sync 2;\nE:", 64, &fault);
  EXPECT_EQ(fault.kind, FaultKind::kTimeout);
}

TEST(SpinLock, BetweenWarpsOfABlockMakesProgress) {
  const auto out =
      run(".shared .u32 flag; setp.lt.u32 %p1, %r1, 32; @!%p1 bra SET;\n"
          "SPIN: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra SPIN; "
          "mov.u32 %r2, %r3; bra E;\n"
          "SET: st.volatile.shared.u32 [flag], 7;\nE:",
          64, nullptr, 10'000'000);
  EXPECT_EQ(out[0], 7u);
}

TEST(SpinLock, BetweenLanesOfAWarpMakesProgress) {
  const auto out =
      run(".shared .u32 flag; setp.ne.u32 %p1, %r1, 3; @!%p1 bra SET;\n"
          "SPIN: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra SPIN; "
          "mov.u32 %r2, %r3; bra E;\n"
          "SET: st.volatile.shared.u32 [flag], 7;\nE:",
          32, nullptr, 10'000'000);
  EXPECT_EQ(out[0], 7u);
  EXPECT_EQ(out[3], 0u);
}

TEST(Budget, EndsAKernelThatDoesNot) {
  Fault fault;
  run("LOOP: add.u32 %r2, %r2, 1; bra LOOP;", 32, &fault, 10'000);
  EXPECT_EQ(fault.kind, FaultKind::kTimeout);
}

}  // namespace
}  // namespace gacer::simdevice::test
