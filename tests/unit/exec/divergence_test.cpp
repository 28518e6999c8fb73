// SPDX-License-Identifier: Apache-2.0
// Control flow: the lanes of a warp take different ways and each gets the result of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

struct FlowCase {
  const char* name;
  const char* body;  // %r1: thread, result in %r2
  std::function<uint32_t(uint32_t t)> expected;
};

std::string kernel(const std::string& body, const std::string& module_scope = "") {
  return std::string(kHeader) + module_scope + R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<8>; .reg .b32 %r<32>; .reg .pred %p<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  mov.u32 %r2, 0;
)" + body +
         R"(
  st.global.u32 [%rd1], %r2;
  ret;
})";
}

std::vector<uint32_t> run(const std::string& text, uint32_t threads,
                          BlockCounters* counters = nullptr) {
  Device device;
  const auto program = device.load(text);
  if (program == nullptr) return {};
  const uint64_t out = device.allocate(threads * 4);
  const Fault fault =
      device.launch(*program, "k", shape(1, threads), Params().add(out), 10'000'000);
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  if (counters != nullptr) *counters = device.counters;
  return device.download<uint32_t>(out, threads);
}

class Flow : public testing::TestWithParam<FlowCase> {};

TEST_P(Flow, EachLaneGetsItsOwnWaysResult) {
  for (uint32_t threads : {32u, 45u, 1u}) {
    const auto out = run(kernel(GetParam().body), threads);
    ASSERT_EQ(out.size(), threads);
    for (uint32_t t = 0; t < threads; ++t)
      EXPECT_EQ(out[t], GetParam().expected(t)) << GetParam().name << " thread " << t;
  }
}

uint32_t collatz(uint32_t n) {
  uint32_t steps = 0;
  for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Flow,
    testing::Values(
        FlowCase{"if_else",
                 "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra A; mov.u32 %r2, 10; bra "
                 "B;\nA: mov.u32 %r2, 20;\nB: add.u32 %r2, %r2, %r1;",
                 [](uint32_t x) { return (x % 2 == 0 ? 20 : 10) + x; }},
        FlowCase{
            "nested_if",
            "and.b32 %r3, %r1, 1; and.b32 %r4, %r1, 2; setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, "
            "%r4, 0; @%p1 bra A; @%p2 bra C; add.u32 %r2, %r2, 1;\n"
            "C: add.u32 %r2, %r2, 2; bra B;\nA: @!%p2 bra D; add.u32 %r2, %r2, 4;\nD: add.u32 %r2, "
            "%r2, 8;\nB: add.u32 %r2, %r2, 16;",
            [](uint32_t x) { return (x % 2 == 0 ? (x & 2 ? 8u : 12u) : (x & 2 ? 3u : 2u)) + 16; }},
        FlowCase{"loop_of_different_length",
                 "mov.u32 %r3, 0;\nL: setp.ge.u32 %p1, %r3, %r1; @%p1 bra E; add.u32 %r2, %r2, "
                 "%r3; add.u32 %r3, %r3, 1; bra L;\nE:",
                 [](uint32_t x) { return x * (x - 1) / 2; }},
        FlowCase{"break_and_continue",
                 "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1; setp.gt.u32 %p1, %r3, 20; @%p1 bra E; "
                 "and.b32 %r4, %r3, 1; setp.eq.u32 %p2, %r4, 1; @%p2 bra L;"
                 "setp.gt.u32 %p3, %r3, %r1; @%p3 bra E; add.u32 %r2, %r2, %r3; bra L;\nE:",
                 [](uint32_t x) {
                   uint32_t s = 0;
                   for (uint32_t i = 2; i <= 20 && i <= x; i += 2) s += i;
                   return s;
                 }},
        FlowCase{"data_dependent_loop",
                 "add.u32 %r3, %r1, 1;\nL: setp.eq.u32 %p1, %r3, 1; @%p1 bra E; and.b32 %r4, %r3, "
                 "1; setp.eq.u32 %p2, %r4, 0; add.u32 %r2, %r2, 1; @%p2 bra V;"
                 "mad.lo.u32 %r3, %r3, 3, 1; bra L;\nV: shr.u32 %r3, %r3, 1; bra L;\nE:",
                 [](uint32_t x) { return collatz(x + 1); }},
        FlowCase{"early_exit",
                 "setp.eq.u32 %p1, %r1, 3; st.global.u32 [%rd1], 77; @%p1 exit; setp.eq.u32 %p1, "
                 "%r1, 4; @%p1 ret; mov.u32 %r2, 5;",
                 [](uint32_t x) { return x == 3 || x == 4 ? 77 : 5; }},
        FlowCase{"exit_in_a_loop",
                 "mov.u32 %r3, 0; st.global.u32 [%rd1], 9;\nL: setp.eq.u32 %p1, %r3, %r1; @%p1 "
                 "exit; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 20; @%p2 bra L;",
                 [](uint32_t x) { return x < 20 ? 9 : 0; }},
        FlowCase{"jump_into_the_middle",
                 "and.b32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %r3, 1; @%p1 bra "
                 "A; @%p2 bra B; bra C;\nA: add.u32 %r2, %r2, 1;\n"
                 "B: add.u32 %r2, %r2, 10;\nC: add.u32 %r2, %r2, 100;",
                 [](uint32_t x) { return x % 4 == 0   ? 111
                                         : x % 4 == 1 ? 110
                                                      : 100; }},
        FlowCase{"switch",
                 "rem.u32 %r3, %r1, 5; t: .branchtargets A, B, A, C, D;\n brx.idx %r3, t;\nA: "
                 "mov.u32 %r2, 1; bra E;\nB: mov.u32 %r2, 2; bra E;\n"
                 "C: mov.u32 %r2, 3;\nD: add.u32 %r2, %r2, 4;\nE: add.u32 %r2, %r2, 100;",
                 [](uint32_t x) {
                   return 100 + std::vector<uint32_t>{1, 2, 1, 7, 4}[x % 5];
                 }},
        FlowCase{"guarded_instructions",
                 "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 add.u32 %r2, %r2, 7; @!%p1 "
                 "add.u32 %r2, %r2, 9; @%p1 mad.lo.u32 %r2, %r2, 2, 0;",
                 [](uint32_t x) { return x % 2 == 0 ? 14 : 9; }},
        FlowCase{"irreducible_loop",
                 "mov.u32 %r3, 0; and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra B;\nA: "
                 "add.u32 %r2, %r2, 1;\nB: add.u32 %r2, %r2, 10; add.u32 %r3, %r3, 1;"
                 "setp.lt.u32 %p2, %r3, %r1; @%p2 bra A;",
                 [](uint32_t x) {
                   const uint32_t trips = x == 0 ? 1 : x;
                   return trips * 10 + trips - (x % 2 == 0 ? 1 : 0);
                 }}),
    [](const auto& row) { return std::string(row.param.name); });

// Loops with several exits stay together: lanes that went different ways inside meet again at the
// next trip.
TEST(Convergence, LanesOfALoopMeetAgainEachTrip) {
  BlockCounters counters;
  const auto out =
      run(kernel("mov.u32 %r3, 0;\nL: and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra A; "
                 "add.u32 %r2, %r2, 1; setp.eq.u32 %p2, %r3, 99; @%p2 bra E;\n"
                 "A: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 100; @%p3 bra L;\nE:"),
          32, &counters);
  EXPECT_EQ(out[1], 100u);
  EXPECT_EQ(out[2], 0u);
  // 100 trips of at most 11 instructions; lanes that stayed apart would need nearly twice that.
  EXPECT_LT(counters.warp_instructions, 1250u);
}

constexpr const char* kFunctions = R"(
.func (.param .b32 r) factorial(.param .b32 n) {
  .reg .b32 %r<8>; .reg .pred %p1;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 1;
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra DONE;
  sub.u32 %r3, %r1, 1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), factorial, (a); ld.param.b32 %r4, [b]; }
  mul.lo.u32 %r2, %r4, %r1;
DONE:
  st.param.b32 [r], %r2;
  ret;
}
.func (.param .b32 r) twice(.param .b32 n) { .reg .b32 x; ld.param.u32 x, [n]; add.u32 x, x, x; st.param.b32 [r], x; ret; }
.func (.param .b32 r) early(.param .b32 n) {
  .reg .b32 x; .reg .pred p; ld.param.u32 x, [n]; setp.gt.u32 p, x, 10; st.param.b32 [r], 1; @p ret; st.param.b32 [r], 2; ret;
}
.func (.param .b32 r) plus_twice(.param .b32 n) {
  .reg .b32 x, y; ld.param.u32 x, [n];
  { .param .b32 a; .param .b32 b; st.param.b32 [a], x; call.uni (b), twice, (a); ld.param.b32 y, [b]; }
  add.u32 y, y, 100; st.param.b32 [r], y; ret;
}
.func store(.param .align 8 .b8 s[16]) {
  .reg .b32 x; .reg .b64 p; ld.param.u64 p, [s]; ld.param.u32 x, [s+8]; st.global.u32 [p], x; ret;
}
.global .align 8 .u64 table[2] = {twice, early};
)";

uint32_t factorial(uint32_t n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}

TEST(Calls, RecurseToADifferentDepthInEachLane) {
  const auto out = run(kernel("and.b32 %r3, %r1, 7; { .param .b32 a; .param .b32 b; st.param.b32 "
                              "[a], %r3; call.uni (b), factorial, (a); ld.param.b32 %r2, [b]; }",
                              kFunctions),
                       40);
  for (uint32_t t = 0; t < 40; ++t) EXPECT_EQ(out[t], factorial(t & 7));
}

TEST(Calls, OfOneFunctionInAnotherReturnToTheFirstCaller) {
  const auto out = run(kernel("{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni "
                              "(b), plus_twice, (a); ld.param.b32 %r2, [b]; }",
                              kFunctions),
                       32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 100 + 2 * t);
}

// Lanes that take turns inside functions of different layouts keep their own registers.
constexpr const char* kTurns = R"(
.shared .u32 turn[2];
.func (.param .b32 r) keeps(.param .b32 n) {
  .reg .b32 x, f; .reg .b64 v<4>; .reg .pred p;
  ld.param.u32 x, [n];
  mul.wide.u32 v0, x, 3; mul.wide.u32 v1, x, 5; mul.wide.u32 v2, x, 7; mul.wide.u32 v3, x, 9;
  st.volatile.shared.u32 [turn], 1;
W: ld.volatile.shared.u32 f, [turn+4]; setp.eq.u32 p, f, 0; @p bra W;
  add.u64 v0, v0, v1; add.u64 v2, v2, v3; add.u64 v0, v0, v2; cvt.u32.u64 x, v0;
  st.param.b32 [r], x;
  ret;
}
.func (.param .b32 r) spoils(.param .b32 n) {
  .reg .b32 w<12>; .reg .pred p;
W: ld.volatile.shared.u32 w0, [turn]; setp.eq.u32 p, w0, 0; @p bra W;
  ld.param.u32 w1, [n];
  not.b32 w2, w1; not.b32 w3, w2; not.b32 w4, w3; not.b32 w5, w4; not.b32 w6, w5; not.b32 w7, w6;
  st.volatile.shared.u32 [turn+4], 1;
  add.u32 w8, w2, w3; add.u32 w9, w4, w5; add.u32 w10, w6, w7; add.u32 w8, w8, w9; add.u32 w8, w8, w10;
  st.param.b32 [r], w8;
  ret;
}
.global .align 8 .u64 turns[2] = {keeps, spoils};
)";

TEST(Calls, LanesThatTakeTurnsInDifferentFunctionsKeepTheirRegisters) {
  const auto out = run(kernel("st.shared.u32 [turn], 0; st.shared.u32 [turn+4], 0; and.b32 %r3, "
                              "%r1, 1; mul.wide.u32 %rd3, %r3, 8; mov.u64 %rd4, turns; add.u64 "
                              "%rd4, %rd4, %rd3; ld.global.u64 %rd5, [%rd4];\n"
                              "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                              "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), "
                              "%rd5, (a), proto; ld.param.b32 %r2, [b]; }",
                              kTurns),
                       32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 2 == 0 ? 24 * t : ~2u) << t;
}

TEST(Calls, ReturnEarlyInSomeLanes) {
  const auto out = run(kernel("{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni "
                              "(b), early, (a); ld.param.b32 %r2, [b]; } add.u32 %r2, %r2, 10;",
                              kFunctions),
                       32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t > 10 ? 11u : 12u);
}

TEST(Calls, ThroughPointersGoWhereEachLanePoints) {
  const auto out = run(kernel("and.b32 %r3, %r1, 1; mul.wide.u32 %rd3, %r3, 8; mov.u64 %rd4, "
                              "table; add.u64 %rd4, %rd4, %rd3; ld.global.u64 %rd5, [%rd4];\n"
                              "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                              "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), "
                              "%rd5, (a), proto; ld.param.b32 %r2, [b]; }",
                              kFunctions),
                       32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 2 == 0 ? 2 * t : t > 10 ? 1u : 2u);
}

TEST(Calls, UnderAGuardOrWithoutAResult) {
  const auto out =
      run(kernel("setp.lt.u32 %p1, %r1, 5; { .param .align 8 .b8 s[16]; st.param.b64 [s], %rd1; "
                 "st.param.b32 [s+8], 33; @%p1 call store, (s); } @%p1 exit; mov.u32 %r2, 4;",
                 kFunctions),
          32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 5 ? 33u : 4u);
}

TEST(Calls, EndlessRecursionIsAFault) {
  Device device;
  const auto program = device.load(
      kernel("call forever;", ".func forever { .local .b8 l[1024]; call forever; ret; }"));
  ASSERT_NE(program, nullptr);
  const Fault fault =
      device.launch(*program, "k", shape(1, 32), Params().add(device.allocate(128)), 100'000'000);
  EXPECT_EQ(fault.kind, FaultKind::kStackOverflow);
  EXPECT_THAT(fault.message, testing::HasSubstr("call stack"));
}

}  // namespace
}  // namespace gacer::simdevice::test
