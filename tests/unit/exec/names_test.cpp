// SPDX-License-Identifier: Apache-2.0
// What instructions may name: registers of 8 and 128 bits, vectors of registers, register
// parameters, variables of every state space, aliases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

// 32 threads; %r1: thread, the body leaves its result in %rd2.
std::vector<uint64_t> run(const std::string& body, const std::string& module_scope = "") {
  Device device;
  const auto program =
      device.load(".version 9.0\n.target sm_90\n.address_size 64\n" + module_scope + R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .b16 %h<16>; .reg .b8 %b<16>; .reg .b128 %q<8>; .reg .pred %p<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd1, %r1, 8, %rd1;
  mov.u64 %rd2, 0;
)" + body + "\n  st.global.u64 [%rd1], %rd2;\n  ret;\n}");
  if (program == nullptr) return {};
  const uint64_t out = device.allocate(32 * 8);
  const Fault fault = device.launch(*program, "k", shape(1, 32), Params().add(out), 1'000'000);
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  return device.download<uint64_t>(out, 32);
}

void expect_each(const std::vector<uint64_t>& got, const std::function<uint64_t(uint64_t)>& want) {
  ASSERT_EQ(got.size(), 32u);
  for (uint64_t t = 0; t < 32; ++t) EXPECT_EQ(got[t], want(t)) << "thread " << t;
}

TEST(Names, WideRegistersHoldTwoHalves) {
  const auto out = run(R"(
    cvt.u64.u32 %rd3, %r1; mov.u64 %rd4, 1000;
    mov.b128 %q1, {%rd3, %rd4};
    mov.b128 %q2, %q1;
    mov.b128 {%rd5, %rd6}, %q2;
    mad.lo.u64 %rd2, %rd6, 100, %rd5;)");
  expect_each(out, [](uint64_t t) { return 100'000 + t; });
}

TEST(Names, WideRegistersExchangeHalves) {
  const auto out = run(R"(
    cvt.u64.u32 %rd3, %r1; mov.u64 %rd4, 7;
    mov.b128 %q1, {%rd3, %rd4};
    mov.b128 {%rd4, %rd3}, %q1;
    mad.lo.u64 %rd2, %rd3, 100, %rd4;)");
  expect_each(out, [](uint64_t t) { return 700 + t; });
}

TEST(Names, WideRegistersGoThroughMemory) {
  const auto out = run(R"(
    .local .align 16 .b8 place[32];
    cvt.u64.u32 %rd3, %r1; mov.u64 %rd4, 3;
    mov.b128 %q1, {%rd3, %rd4};
    st.local.b128 [place+16], %q1;
    ld.local.b128 %q2, [place+16];
    mov.b128 {%rd5, %rd6}, %q2;
    mad.lo.u64 %rd2, %rd6, 100, %rd5;)");
  expect_each(out, [](uint64_t t) { return 300 + t; });
}

TEST(Names, WideRegistersAreNothingElse) {
  EXPECT_THAT(
      compile_error(
          ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() { .reg .b128 q; .reg .b64 d; "
          "add.u64 d, q, 1; }",
          90),
      testing::HasSubstr("add.u64"));
}

TEST(Names, BytesPackAndUnpack) {
  const auto out = run(R"(
    mul.lo.u32 %r2, %r1, 0x01020304;
    mov.b32 {%b1, %b2, %b3, %b4}, %r2;
    mov.b32 %r3, {%b4, %b3, %b2, %b1};
    cvt.u64.u32 %rd2, %r3;)");
  expect_each(out,
              [](uint64_t t) { return __builtin_bswap32(static_cast<uint32_t>(t * 0x01020304)); });
}

TEST(Names, HalvesUnpackToBytes) {
  const auto out = run(R"(
    mul.lo.u32 %r2, %r1, 0x0301; cvt.u16.u32 %h1, %r2;
    mov.b16 {%b1, %b2}, %h1;
    mov.b16 %h2, {%b2, %b1};
    cvt.u64.u16 %rd2, %h2;)");
  expect_each(out, [](uint64_t t) { return (t * 3) | t << 8; });
}

TEST(Names, VectorsOfRegistersHaveElements) {
  const auto out = run(R"(
    .reg .v4 .b32 v;
    .local .align 16 .b8 place[16];
    mov.b32 v.x, %r1; mov.b32 v.y, 2; mov.b32 v.z, 3; mov.b32 v.w, 4;
    st.local.v4.b32 [place], v;
    mov.b32 v.r, 9;
    ld.local.v4.b32 v, [place];
    mad.lo.u32 %r2, v.r, 10, v.w;
    mad.lo.u32 %r2, %r2, 10, v.g;
    cvt.u64.u32 %rd2, %r2;)");
  expect_each(out, [](uint64_t t) { return (t * 10 + 4) * 10 + 2; });
}

TEST(Names, FunctionsTakeAndGiveRegisters) {
  const auto out = run(R"(
    cvt.u64.u32 %rd3, %r1;
    call (%rd2, %r3), both, (%rd3, 5);
    cvt.u64.u32 %rd4, %r3; add.u64 %rd2, %rd2, %rd4;)",
                       R"(
.func (.reg .b64 sum, .reg .b32 even) both (.reg .b64 a, .reg .b32 b) {
  .reg .pred p; .reg .b64 wide; .reg .b32 low;
  cvt.u64.u32 wide, b;
  add.u64 sum, a, wide;
  cvt.u32.u64 low, a; and.b32 low, low, 1; setp.eq.u32 p, low, 0;
  mov.b32 even, 1000;
  @p ret;
  mov.b32 even, 0;
})");
  expect_each(out, [](uint64_t t) { return t + 5 + (t % 2 == 0 ? 1000 : 0); });
}

TEST(Names, GuardedCallsLeaveOtherLanesRegisters) {
  const auto out = run(R"(
    setp.lt.u32 %p1, %r1, 10;
    mov.u64 %rd2, 77;
    @%p1 call (%rd2), twice, (%r1);)",
                       R"(
.func (.reg .b64 result) twice (.reg .b32 a) { mul.wide.u32 result, a, 2; ret; })");
  expect_each(out, [](uint64_t t) { return t < 10 ? 2 * t : 77; });
}

TEST(Names, AliasesCallTheirTarget) {
  const auto out = run(R"(
    { .param .b64 x; call (x), other, (); ld.param.b64 %rd2, [x]; })",
                       R"(
.func (.param .b64 r) one () { st.param.b64 [r], 41; ret; }
.func (.param .b64 r) other ();
.alias other, one;
)");
  expect_each(out, [](uint64_t) { return 41; });
}

TEST(Names, VariablesOfEverySpaceHaveGenericAddresses) {
  const auto out = run(R"(
    .shared .align 8 .b64 s[4];
    .local .align 8 .b64 l[4];
    mov.u64 %rd3, s; cvta.shared.u64 %rd4, %rd3;
    mov.u64 %rd5, l; cvta.local.u64 %rd6, %rd5;
    cvta.global.u64 %rd7, g; cvta.const.u64 %rd8, c;
    st.b64 [%rd6+8], 5; st.b64 [%rd7], 100;
    isspacep.shared %p1, %rd4; isspacep.local %p2, %rd6; isspacep.global %p3, %rd7; isspacep.const %p4, %rd8;
    isspacep.const %p5, %rd7; isspacep.shared::cta %p6, %rd6; isspacep.const %p7, %rd4;
    selp.u64 %rd2, 1, 0, %p1;
    @%p2 add.u64 %rd2, %rd2, 2;
    @%p3 add.u64 %rd2, %rd2, 4;
    @%p4 add.u64 %rd2, %rd2, 8;
    @%p5 add.u64 %rd2, %rd2, 16;
    @%p6 add.u64 %rd2, %rd2, 32;
    @%p7 add.u64 %rd2, %rd2, 64;
    ld.b64 %rd9, [%rd8+8]; mad.lo.u64 %rd2, %rd9, 1000, %rd2;
    ld.local.b64 %rd9, [l+8]; mad.lo.u64 %rd2, %rd9, 10000, %rd2;)",
                       ".global .align 8 .b64 g; .const .align 8 .b64 c[2] = {3, 4};\n");
  expect_each(out, [](uint64_t) { return 54'015; });
}

TEST(Names, LopWithAPredicateJoinsIt) {
  const auto out = run(R"(
    setp.gt.u32 %p1, %r1, 20;
    lop3.or.b32 %r2|%p2, %r1, 3, 0, 0xC0, %p1;
    lop3.and.b32 _|%p3, %r1, 4, 0, 0xC0, !%p1;
    cvt.u64.u32 %rd2, %r2;
    @%p2 add.u64 %rd2, %rd2, 100;
    @%p3 add.u64 %rd2, %rd2, 1000;)");
  expect_each(out, [](uint64_t t) {
    return (t & 3) + ((t & 3) != 0 || t > 20 ? 100 : 0) + ((t & 4) != 0 && t <= 20 ? 1000 : 0);
  });
}

}  // namespace
}  // namespace gacer::simdevice::test
