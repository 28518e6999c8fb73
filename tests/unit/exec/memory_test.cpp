// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

using testing::Each;
using testing::ElementsAreArray;

// A kernel of two pointers and a count, with tid, lane registers and %rd1 = in, %rd2 = out ready.
std::string kernel(const std::string& body, const std::string& module_scope = "") {
  return std::string(kHeader) + module_scope + R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {
  .reg .b64 %rd<32>; .reg .b32 %r<64>; .reg .b16 %h<16>; .reg .f32 %f<16>; .reg .f64 %g<8>; .reg .pred %p<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r2, [n];
  mov.u32 %r1, %tid.x;
)" + body +
         "\n  ret;\n}\n";
}

template <typename T>
std::vector<T> iota(size_t count, T first = 1) {
  std::vector<T> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

class Memory : public testing::Test {
 protected:
  template <typename T, typename Out>
  std::vector<Out> run(const std::string& text, const std::vector<T>& in, size_t out_count,
                       uint32_t threads = 32, uint32_t dynamic = 0) {
    const auto program = device_.load(text);
    if (program == nullptr) return {};
    const uint64_t a = device_.upload(in), b = device_.upload(std::vector<Out>(out_count));
    fault_ = device_.launch(*program, "k", shape(1, threads, dynamic),
                            Params().add(a).add(b).add<uint32_t>(static_cast<uint32_t>(in.size())));
    EXPECT_EQ(fault_.kind, FaultKind::kNone) << fault_.message;
    return device_.download<Out>(b, out_count);
  }
  Device device_;
  Fault fault_;
};

struct CopyCase {
  const char* load;   // into %r3 .. of the element at %rd3
  const char* store;  // to %rd4
  uint32_t bytes;
};
class Copies : public Memory, public testing::WithParamInterface<CopyCase> {};

// Contiguous, strided, uniform and scattered addresses; whole and partial warps.
TEST_P(Copies, MoveTheRightBytes) {
  const uint32_t size = GetParam().bytes;
  const std::vector<uint8_t> in = iota<uint8_t>(size * 256);
  for (uint32_t threads : {32u, 7u}) {
    for (const char* index : {"mov.u32 %r9, %r1;", "mul.lo.u32 %r9, %r1, 3;", "mov.u32 %r9, 5;",
                              "mad.lo.u32 %r9, %r1, 37, 11; and.b32 %r9, %r9, 127;"}) {
      const std::string text =
          kernel(std::string(index) + " mul.wide.u32 %rd3, %r9, " + std::to_string(size) +
                 "; add.u64 %rd3, %rd3, %rd1; mul.wide.u32 %rd4, %r1, " + std::to_string(size) +
                 "; add.u64 %rd4, %rd4, %rd2;\n" + GetParam().load + "\n" + GetParam().store);
      const auto out = run<uint8_t, uint8_t>(text, in, size * 32, threads);
      ASSERT_EQ(out.size(), size * 32);
      for (uint32_t t = 0; t < 32; ++t) {
        uint32_t from = t;
        if (index[0] == 'm' && std::string(index).find(", 3;") != std::string::npos) from = t * 3;
        if (std::string(index).find(", 5;") != std::string::npos) from = 5;
        if (std::string(index).find("37") != std::string::npos) from = (t * 37 + 11) & 127;
        for (uint32_t i = 0; i < size; ++i)
          ASSERT_EQ(out[t * size + i], t < threads ? in[from * size + i] : 0)
              << index << " thread " << t << " byte " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, Copies,
    testing::Values(
        CopyCase{"ld.global.u8 %r3, [%rd3];", "st.global.u8 [%rd4], %r3;", 1},
        CopyCase{"ld.global.u16 %h3, [%rd3];", "st.global.u16 [%rd4], %h3;", 2},
        CopyCase{"ld.global.b8 %h3, [%rd3];", "st.global.b8 [%rd4], %h3;", 1},
        CopyCase{"ld.global.nc.f32 %f3, [%rd3];", "st.global.f32 [%rd4], %f3;", 4},
        CopyCase{"ld.global.ca.L1::evict_last.L2::128B.u64 %rd5, [%rd3];",
                 "st.global.wt.u64 [%rd4], %rd5;", 8},
        CopyCase{"ld.volatile.global.f64 %g3, [%rd3];", "st.relaxed.gpu.global.f64 [%rd4], %g3;",
                 8},
        CopyCase{"ld.global.v2.u16 {%h1,%h2}, [%rd3];", "st.global.v2.u16 [%rd4], {%h1,%h2};", 4},
        CopyCase{"ld.global.v4.u8 {%r4,%r5,%r6,%r7}, [%rd3];",
                 "st.global.v4.u8 [%rd4], {%r4,%r5,%r6,%r7};", 4},
        CopyCase{"ld.global.v4.f32 {%f4,%f5,%f6,%f7}, [%rd3];",
                 "st.global.v4.f32 [%rd4], {%f4,%f5,%f6,%f7};", 16},
        CopyCase{"ld.global.v2.f64 {%g1,%g2}, [%rd3];", "st.global.v2.f64 [%rd4], {%g1,%g2};", 16},
        CopyCase{"ld.u32 %r3, [%rd3];", "st.u32 [%rd4], %r3;", 4},
        CopyCase{"ld.global.u64 %rd5, [%rd3]; shr.u64 %rd6, %rd5, 32; cvt.u32.u64 %r4, %rd5; "
                 "cvt.u32.u64 %r5, %rd6;",
                 "st.global.v2.b32 [%rd4], {%r4,%r5};", 8}));

TEST_F(Memory, NarrowLoadsExtendByTheirSign) {
  const auto out = run<uint8_t, int64_t>(
      kernel("mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd1; mul.wide.u32 %rd4, %r1, 32; "
             "add.u64 %rd4, %rd4, %rd2;"
             "ld.global.s8 %r3, [%rd3]; cvt.s64.s32 %rd5, %r3; st.global.u64 [%rd4], %rd5;"
             "ld.global.u8 %r3, [%rd3]; cvt.s64.s32 %rd5, %r3; st.global.u64 [%rd4+8], %rd5;"
             "ld.global.s16 %rd5, [%rd3]; st.global.u64 [%rd4+16], %rd5;"
             "ld.global.s32 %rd5, [%rd3]; st.global.u64 [%rd4+24], %rd5;"),
      std::vector<uint8_t>(128, 0xf0), 128);
  EXPECT_EQ(out[0], -16);
  EXPECT_EQ(out[1], 240);
  EXPECT_EQ(out[2], int16_t(0xf0f0));
  EXPECT_EQ(out[3], int32_t(0xf0f0f0f0));
  EXPECT_EQ(out[127], int32_t(0xf0f0f0f0));
}

TEST_F(Memory, SharedMemoryReversesABlock) {
  const auto in = iota<uint32_t>(256);
  auto expected = in;
  std::reverse(expected.begin(), expected.end());
  const char* scopes[] = {"", ".shared .align 4 .b8 tile[1024];",
                          ".extern .shared .align 16 .b8 tile[];"};
  for (int i = 0; i < 3; ++i) {
    const std::string local = i == 0 ? ".shared .align 4 .b8 tile[1024];" : "";
    const auto out = run<uint32_t, uint32_t>(
        kernel(local + "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd3, %rd1; ld.global.u32 %r3, "
                       "[%rd4]; mov.u32 %r4, tile; shl.b32 %r5, %r1, 2;"
                       "add.u32 %r6, %r4, %r5; st.shared.u32 [%r6], %r3; bar.sync 0; sub.u32 %r7, "
                       "%r4, %r5; ld.shared.u32 %r8, [%r7+1020];"
                       "add.u64 %rd5, %rd3, %rd2; st.global.u32 [%rd5], %r8;",
               scopes[i]),
        in, 256, 256, i == 2 ? 1024 : 0);
    EXPECT_THAT(out, ElementsAreArray(expected)) << scopes[i];
  }
}

TEST_F(Memory, GenericAddressesReachEverySpace) {
  // Shared, local and global through the same generic loads; lanes differ in the space they touch.
  const auto out = run<uint32_t, uint32_t>(
      kernel(".shared .align 4 .b8 s[128]; .local .align 4 .b8 l[8];"
             "shl.b32 %r3, %r1, 2; mov.u32 %r4, s; add.u32 %r5, %r4, %r3; mad.lo.u32 %r6, %r1, 10, "
             "1; st.shared.u32 [%r5], %r6;"
             "mov.u64 %rd3, l; mad.lo.u32 %r7, %r1, 10, 2; st.local.u32 [%rd3+4], %r7; bar.sync 0;"
             "cvt.u64.u32 %rd4, %r5; cvta.shared.u64 %rd5, %rd4; cvta.local.u64 %rd6, %rd3; "
             "add.u64 %rd6, %rd6, 4;"
             "mul.wide.u32 %rd7, %r1, 4; add.u64 %rd8, %rd7, %rd1;"
             "rem.u32 %r8, %r1, 3; setp.eq.u32 %p1, %r8, 0; setp.eq.u32 %p2, %r8, 1;"
             "selp.b64 %rd9, %rd5, %rd6, %p1; selp.b64 %rd9, %rd8, %rd9, %p2;"
             "ld.u32 %r9, [%rd9]; add.u32 %r9, %r9, 1000; st.u32 [%rd9], %r9; ld.u32 %r10, [%rd9];"
             "isspacep.shared %p3, %rd9; isspacep.local %p4, %rd9; isspacep.global %p5, %rd9;"
             "selp.u32 %r11, 10000, 0, %p3; selp.u32 %r12, 20000, 0, %p4; selp.u32 %r13, 30000, 0, "
             "%p5;"
             "add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12; add.u32 %r10, %r10, %r13;"
             "add.u64 %rd10, %rd7, %rd2; st.u32 [%rd10], %r10;"),
      iota<uint32_t>(32, 100), 32);
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t expected = t % 3 == 0   ? 10000 + 1000 + t * 10 + 1
                              : t % 3 == 1 ? 30000 + 1000 + 100 + t
                                           : 20000 + 1000 + t * 10 + 2;
    EXPECT_EQ(out[t], expected) << t;
  }
}

TEST_F(Memory, LocalArraysBelongToTheirThread) {
  const auto out = run<uint32_t, uint64_t>(
      kernel(
          ".local .align 8 .b8 l[64];\n mov.u64 %rd3, l; mul.wide.u32 %rd4, %r1, 3; st.local.u64 "
          "[%rd3+8], %rd4; st.local.u8 [%rd3+16], %r1;"
          "and.b32 %r3, %r1, 3; mul.wide.u32 %rd5, %r3, 8; add.u64 %rd6, %rd3, %rd5; "
          "st.local.v2.u32 [%rd6+32], {%r1, %r3};"
          "ld.local.u64 %rd7, [l+8]; ld.local.u8 %r4, [%rd3+16]; cvt.u64.u32 %rd8, %r4; mad.lo.u64 "
          "%rd7, %rd7, 1000, %rd8;"
          "ld.local.v2.u32 {%r5,%r6}, [%rd6+32]; mad.lo.u32 %r5, %r5, 10, %r6; cvt.u64.u32 %rd9, "
          "%r5; mad.lo.u64 %rd7, %rd7, 1000, %rd9;"
          "mul.wide.u32 %rd10, %r1, 8; add.u64 %rd11, %rd10, %rd2; st.global.u64 [%rd11], %rd7;"),
      {0}, 32);
  for (uint64_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], (t * 3 * 1000 + t) * 1000 + t * 10 + t % 4);
}

TEST_F(Memory, ModuleVariablesHoldWhatTheTextSays) {
  const std::string scope =
      ".const .align 4 .f32 table[4] = {1.5, 0f40E00000, 9};\n.global .align 4 .u32 value[3] = "
      "{11, 22, 33};\n"
      ".global .align 8 .u64 pointer = generic(value)+4;\n.global .align 1 .b8 bytes[4] = {1, "
      "0x80, 0377};\n.global .align 8 .f64 matrix[2][3] = {{1}, {5.0, 6}};\n";
  const auto out = run<uint32_t, uint64_t>(
      kernel("ld.const.f32 %f1, [table+4]; cvt.rzi.u64.f32 %rd3, %f1; st.global.u64 [%rd2], %rd3;"
             "ld.global.u64 %rd4, [pointer]; ld.u32 %r3, [%rd4]; cvt.u64.u32 %rd5, %r3; "
             "st.global.u64 [%rd2+8], %rd5;"
             "mov.u64 %rd6, value; sub.u64 %rd7, %rd4, %rd6; st.global.u64 [%rd2+16], %rd7;"
             "ld.global.u8 %r4, [bytes+2]; cvt.u64.u32 %rd8, %r4; st.global.u64 [%rd2+24], %rd8;"
             "ld.global.f64 %g1, [matrix+24]; cvt.rzi.u64.f64 %rd9, %g1; st.global.u64 [%rd2+32], "
             "%rd9;"
             "mov.u64 %rd10, table; cvta.const.u64 %rd11, %rd10; ld.f32 %f2, [%rd11+8]; "
             "cvt.rzi.u64.f32 %rd3, %f2; st.global.u64 [%rd2+40], %rd3;",
             scope),
      {0}, 6, 1);
  EXPECT_THAT(out, ElementsAreArray({7, 22, 4, 255, 5, 9}));
}

TEST_F(Memory, KernelParametersCanBeStructuresAndHaveAddresses) {
  const auto program = device_.load(std::string(kHeader) + R"(
.visible .entry k(.param .u8 small, .param .align 8 .b8 s[20], .param .u64 out, .param .f32 last) {
  .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 %f<4>;
  ld.param.u8 %r1, [small]; ld.param.u32 %r2, [s+16]; ld.param.v2.u32 {%r3,%r4}, [s+8]; ld.param.f32 %f1, [last]; ld.param.u64 %rd1, [out];
  st.global.v4.u32 [%rd1], {%r1,%r2,%r3,%r4}; st.global.f32 [%rd1+16], %f1;
  mov.b64 %rd2, s; cvta.param.u64 %rd3, %rd2; ld.u32 %r5, [%rd3+16]; st.global.u32 [%rd1+20], %r5; ld.param.u32 %r6, [%rd2+4]; st.global.u32 [%rd1+24], %r6;
  ret;
})");
  ASSERT_NE(program, nullptr);
  const KernelInfo& info = program->kernels()[0];
  ASSERT_EQ(info.params.size(), 4u);
  EXPECT_EQ(info.params[1].offset, 8u);
  EXPECT_EQ(info.params[2].offset, 32u);
  EXPECT_EQ(info.params[3].offset, 40u);
  EXPECT_EQ(info.param_bytes, 44u);
  struct alignas(8) S {
    uint32_t v[5] = {1, 2, 3, 4, 5};
  };
  const uint64_t out = device_.allocate(64);
  const Fault fault = device_.launch(*program, "k", shape(1, 1),
                                     Params().add<uint8_t>(200).add(S{}).add(out).add(2.5f));
  ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  EXPECT_THAT(device_.download<uint32_t>(out, 7),
              ElementsAreArray({200u, 5u, 3u, 4u, 0x40200000u, 5u, 2u}));
}

struct AtomicCase {
  const char* operation;  // on [%rd2], with %r1 the thread and %rd4 the same in 64 bits
  uint64_t initial, result;
};
class Atomics : public Memory, public testing::WithParamInterface<AtomicCase> {};

TEST_P(Atomics, OfAllThreadsAddUp) {
  const auto program =
      device_.load(kernel(std::string("cvt.u64.u32 %rd4, %r1; mov.f32 %f1, 0f3F000000; mov.f64 "
                                      "%g1, 0d3FD0000000000000; mov.b16 %h1, 0x3C00;"
                                      "mov.b32 %r5, 0x3C003C00; mov.b32 %r6, 0x3F803F80;") +
                          GetParam().operation));
  ASSERT_NE(program, nullptr);
  const uint64_t out = device_.upload(std::vector<uint64_t>{GetParam().initial});
  const Fault fault =
      device_.launch(*program, "k", shape(2, 96), Params().add(out).add(out).add<uint32_t>(0));
  ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  EXPECT_EQ(device_.download<uint64_t>(out, 1)[0], GetParam().result);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, Atomics,
    testing::Values(
        AtomicCase{"atom.global.add.u32 %r3, [%rd2], 1;", 5, 197},
        AtomicCase{"red.relaxed.gpu.global.add.s32 [%rd2], -1;", 200, 8},
        AtomicCase{"atom.add.u64 %rd3, [%rd2], %rd4;", 0, 2 * 95 * 96 / 2},
        AtomicCase{"atom.global.max.s32 %r3, [%rd2], %r1;", 3, 95},
        AtomicCase{"atom.global.min.u32 %r3, [%rd2], %r1;", 77, 0},
        AtomicCase{"red.global.max.u64 [%rd2], %rd4;", 4, 95},
        AtomicCase{"red.global.or.b32 [%rd2], %r1;", 0, 127},
        AtomicCase{"atom.global.and.b32 %r3, [%rd2], 0xF0;", 0xFF, 0xF0},
        AtomicCase{"atom.global.xor.b32 %r3, [%rd2], 1;", 6, 6},
        AtomicCase{"atom.global.inc.u32 %r3, [%rd2], 9;", 0, 192 % 10},
        AtomicCase{"atom.global.dec.u32 %r3, [%rd2], 9;", 0, (10 - 192 % 10) % 10},
        AtomicCase{"atom.global.exch.b32 %r3, [%rd2], 42;", 1, 42},
        AtomicCase{"setp.eq.u32 %p1, %r1, 0; @%p1 atom.global.cas.b32 %r3, [%rd2], 7, 8;", 7, 8},
        AtomicCase{"atom.global.cas.b64 %rd3, [%rd2], 1, 2;", 7, 7},
        AtomicCase{"red.global.add.f32 [%rd2], %f1;", 0, 0x42c00000},
        AtomicCase{"atom.global.add.f64 %g2, [%rd2], %g1;", 0, 0x4048000000000000},
        AtomicCase{"red.global.add.noftz.f16 [%rd2], %h1;", 0, 0x5a00},
        AtomicCase{"red.global.add.noftz.f16x2 [%rd2], %r5;", 0, 0x5a005a00},
        AtomicCase{"red.global.add.noftz.bf16x2 [%rd2], %r6;", 0, 0x43404340}));

TEST_F(Memory, SharedAtomicsReturnTheOldValue) {
  const auto out = run<uint32_t, uint32_t>(
      kernel(".shared .u32 s; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 100; bar.sync 0; "
             "atom.shared.add.u32 %r3, [s], 1;"
             "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], %r3;"),
      {0}, 64, 64);
  EXPECT_THAT(out, testing::UnorderedElementsAreArray(iota<uint32_t>(64, 100)));
}

TEST_F(Memory, AsyncCopiesFillSharedMemory) {
  const auto out = run<uint32_t, uint32_t>(
      kernel(".shared .align 16 .b8 s[512]; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd3, %rd1; "
             "shl.b32 %r3, %r1, 4; mov.u32 %r4, s; add.u32 %r4, %r4, %r3;"
             "setp.lt.u32 %p1, %r1, 16; selp.u32 %r5, 16, 4, %p1;"
             "cp.async.cg.shared.global [%r4], [%rd4], 16, %r5; cp.async.commit_group; "
             "cp.async.wait_group 0; bar.sync 0;"
             "ld.shared.v4.u32 {%r6,%r7,%r8,%r9}, [%r4]; add.u64 %rd5, %rd3, %rd2; "
             "st.global.v4.u32 [%rd5], {%r6,%r7,%r8,%r9};"),
      iota<uint32_t>(128), 128);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i / 4 < 16 || i % 4 == 0 ? i + 1 : 0) << i;
}

}  // namespace
}  // namespace gacer::simdevice::test
