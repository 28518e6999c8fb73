// SPDX-License-Identifier: Apache-2.0
// What kernels do wrong, and what the compiler refuses: one line that says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string kernel(const std::string& body) {
  return std::string(kHeader) +
         ".visible .entry bad(.param .u64 out) {\n.reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 "
         "%f<8>; .reg .b16 %h<4>; .reg .pred %p<4>;\n"
         "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, "
         "%rd1, %rd2;\n" +
         body + "\nret;\n}\n";
}

struct FaultCase {
  const char* name;
  const char* body;  // line 7
  FaultKind kind;
  const char* message;
};
class Faults : public testing::TestWithParam<FaultCase> {};

TEST_P(Faults, NameKernelBlockThreadLineAndAddress) {
  Device device;
  const auto program = device.load(kernel(GetParam().body));
  ASSERT_NE(program, nullptr);
  const uint64_t out = device.allocate(256);
  const Fault fault = device.launch(*program, "bad", shape(1, 64), Params().add(out));
  EXPECT_EQ(fault.kind, GetParam().kind) << fault.message;
  EXPECT_THAT(fault.message, StartsWith("kernel bad, block (0,0,0), thread ("));
  EXPECT_THAT(fault.message, HasSubstr(GetParam().message));
  EXPECT_EQ(fault.message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Faults,
    testing::Values(
        FaultCase{"load_past_the_end", "ld.global.u32 %r2, [%rd3+4];", FaultKind::kIllegalAddress,
                  "thread (63,0,0), line 7: address 0x700000000100 (4 bytes)"},
        FaultCase{"store_before_the_start", "st.global.u32 [%rd3+-4], %r1;",
                  FaultKind::kIllegalAddress, "thread (0,0,0), line 7: address 0x6ffffffffffc"},
        FaultCase{"null", "mov.u64 %rd4, 0; st.u32 [%rd4], %r1;", FaultKind::kIllegalAddress,
                  "address 0x0 (4 bytes) is outside every allocation"},
        FaultCase{"straddles_the_end", "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+256];",
                  FaultKind::kIllegalAddress, "0x700000000100"},
        FaultCase{"misaligned", "add.u64 %rd3, %rd3, 2; ld.global.u32 %r2, [%rd3];",
                  FaultKind::kMisalignedAddress,
                  "address 0x700000000002 is not aligned to 4 bytes"},
        FaultCase{"misaligned_vector", "ld.global.v2.u32 {%r2,%r3}, [%rd3];",
                  FaultKind::kMisalignedAddress, "thread (1,0,0)"},
        FaultCase{
            "shared_past_the_end",
            ".shared .b8 s[128]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; "
            "st.shared.u32 [%r2], %r1;",
            FaultKind::kIllegalAddress,
            "thread (32,0,0), line 7: address 0x80 (4 bytes) is outside the block's shared memory"},
        FaultCase{"local_past_the_end",
                  ".local .b8 l[16]; mov.u64 %rd4, l; ld.local.u32 %r2, [%rd4+4096];",
                  FaultKind::kIllegalAddress, "local memory"},
        FaultCase{"write_to_parameters",
                  "mov.b64 %rd4, out; cvta.param.u64 %rd5, %rd4; st.u64 [%rd5], %rd1;",
                  FaultKind::kIllegalAddress, "parameters"},
        FaultCase{"atomic_past_the_end", "atom.global.add.u32 %r2, [%rd3+4], 1;",
                  FaultKind::kIllegalAddress, "0x700000000100"},
        FaultCase{"misaligned_atomic", "atom.global.add.u32 %r2, [%rd3+1], 1;",
                  FaultKind::kMisalignedAddress, "atomic"},
        FaultCase{"trap", "setp.eq.u32 %p1, %r1, 40; @%p1 trap;", FaultKind::kTrap,
                  "thread (40,0,0), line 7: trap"},
        FaultCase{"switch_out_of_range",
                  "t: .branchtargets A, B;\n brx.idx %r1, t;\nA:\nB:", FaultKind::kTrap, "brx.idx"},
        FaultCase{"call_of_garbage", "p: .callprototype _ ();\n call %rd1, p;",
                  FaultKind::kInvalidPc, "call of no function"},
        FaultCase{"barrier_number", "mov.u32 %r2, 16; bar.sync %r2;", FaultKind::kTrap,
                  "barriers 0 to 15"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Asserts, CarryTheirText) {
  Device device;
  const auto program = device.load(std::string(kHeader) + R"(
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;
.global .align 1 .b8 message[6] = {120, 32, 60, 32, 121, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.visible .entry bad() {
  .reg .b64 %rd<4>;
  mov.u64 %rd1, message; cvta.global.u64 %rd1, %rd1; mov.u64 %rd2, file; cvta.global.u64 %rd2, %rd2;
  { .param .b64 a; st.param.b64 [a], %rd1; .param .b64 b; st.param.b64 [b], %rd2; .param .b32 c; st.param.b32 [c], 12;
    .param .b64 d; st.param.b64 [d], %rd2; .param .b64 e; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); }
  ret;
})");
  ASSERT_NE(program, nullptr);
  const Fault fault = device.launch(*program, "bad", shape(1, 1), Params());
  EXPECT_EQ(fault.kind, FaultKind::kAssert);
  EXPECT_THAT(fault.message, HasSubstr("assertion `x < y` failed at a.cu:12"));
}

TEST(LaunchShape, OutOfRangeIsRefused) {
  Device device;
  const auto program = device.load(kernel(""));
  const uint64_t out = device.allocate(8);
  const AddressSpace space = device.space();
  BlockCounters counters;
  const Params params = Params().add(out);
  EXPECT_EQ(
      program->run_block(7, shape(1, 1), 0, params.bytes().data(), space, {}, 0, counters).kind,
      FaultKind::kUnsupported);
  EXPECT_EQ(
      program->run_block(0, shape(1, 1025), 0, params.bytes().data(), space, {}, 0, counters).kind,
      FaultKind::kUnsupported);
  EXPECT_EQ(
      program->run_block(0, shape(1, 1), 1, params.bytes().data(), space, {}, 0, counters).kind,
      FaultKind::kUnsupported);
}

struct RefusalCase {
  const char* name;
  const char* body;
  const char* message;
};
class Refusals : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refusals, NameLineAndInstruction) {
  const std::string message = compile_error(kernel(GetParam().body));
  EXPECT_THAT(message, StartsWith("line 7: "));
  EXPECT_THAT(message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Refusals,
    testing::Values(
        RefusalCase{"texture", "tex.5d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}];",
                    "tex.5d.v4.f32.f32"},
        RefusalCase{"unknown_opcode", "frob.u32 %r1, %r2;", "frob.u32 %r1, %r2; is not supported"},
        RefusalCase{"unknown_modifier", "add.frob.u32 %r1, %r2, %r3;", "is not supported"},
        RefusalCase{"unknown_register", "add.u32 %r1, %r2, %x9;", "wrong kind or width"},
        RefusalCase{"register_out_of_family", "mov.u32 %r8, %r1;", "wrong kind or width"},
        RefusalCase{"wrong_width", "add.u32 %r1, %r2, %rd1;", "wrong kind or width"},
        RefusalCase{"wrong_destination", "add.u64 %r1, %rd2, %rd1;", "destination"},
        RefusalCase{"too_few_operands", "add.u32 %r1, %r2;", "wrong number of operands"},
        RefusalCase{"missing_label", "bra NOWHERE;", "label that is not there"},
        RefusalCase{"guard_is_no_predicate", "@%r1 bra NOWHERE;", "not a predicate"},
        RefusalCase{"undefined_function", "call nothing;", "not a function"},
        RefusalCase{"cluster", "barrier.cluster.depart;", "barrier.cluster.depart"},
        RefusalCase{"mbarrier", "mbarrier.frob.shared.b64 [%rd1], 1;", "mbarrier.frob"},
        RefusalCase{"tensor_memory", "tcgen05.wait::ld.sync.aligned;", "tcgen05.wait::ld"},
        RefusalCase{"unknown_nan", "fma.rn.oob.f16x2 %r1, %r2, %r3, %r1;", "is not supported"},
        RefusalCase{"video", "vadd4.u32.u32.u32 %r1, %r2, %r3, %r1;", "is not supported"},
        RefusalCase{"mixed_precision", "add.f32.f16 %r1, %r2, %r3;", "is not supported"},
        RefusalCase{"wrong_matrix",
                    "mma.sync.aligned.m8n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r1}, {%r1}, {%r1};",
                    "is not supported"},
        RefusalCase{"special_register", "mov.u32 %r1, %nowhere;", "wrong kind or width"},
        RefusalCase{"unknown_symbol", "ld.global.u32 %r1, [nowhere];",
                    "address that is not supported"},
        RefusalCase{"huge_array", ".local .b8 x[99999999];", "too large"},
        RefusalCase{"bad_vector", "ld.global.v2.u32 {%r1,%r2,%r3}, [%rd1];",
                    "wrong number of data registers"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Modules, AreRefusedWithAReason) {
  EXPECT_THAT(compile_error("garbage"), StartsWith("line 1: "));
  EXPECT_THAT(compile_error(".version 8.0\n.target sm_90\n.address_size 64", 80),
              HasSubstr("sm_90 is newer than the device (sm_80)"));
  EXPECT_THAT(compile_error(".version 8.0\n.target sm_80\n.address_size 32"),
              HasSubstr(".address_size 64"));
  EXPECT_THAT(compile_error(std::string(kHeader) + ".global .u32 a; .global .u32 a;"),
              HasSubstr("defined twice"));
  EXPECT_THAT(compile_error(std::string(kHeader) + ".global .u64 a = nowhere;"),
              HasSubstr("unknown symbol nowhere"));
  EXPECT_THAT(compile_error(std::string(kHeader) + ".global .u32 a[2] = {1,2,3};"),
              HasSubstr("too many initial values"));
  EXPECT_THAT(compile_error(std::string(kHeader) + ".extern .global .u32 a;"), HasSubstr("extern"));
  EXPECT_THAT(compile_error(std::string(kHeader) + ".entry k(.param .b8 s[99999]) { ret; }"),
              HasSubstr("parameters"));
  EXPECT_THAT(
      compile_error(std::string(kHeader) + ".extern .func f(); .entry k() { call f; ret; }"),
      HasSubstr("does not define"));
  EXPECT_EQ(compile_error(std::string(kHeader) + ".entry k() { ret; }" + '\0'), "");
}

TEST(Kernels, ReportWhatTheyNeed) {
  const auto program = Program::compile(std::string(kHeader) + R"(
.extern .shared .align 16 .b8 dynamic[];
.entry small() { ret; }
.entry limited() .maxntid 8, 4, 2 { ret; }
.entry large(.param .u64 out) .reqntid 256 {
  .shared .align 4 .b8 s[100]; .local .align 8 .b8 l[24]; .reg .b64 %rd<70>; .reg .b32 %r<4>; .reg .f64 %g<70>;
  mov.u32 %r1, dynamic; mov.u32 %r2, s; mov.u64 %rd1, l; mov.u32 %r3, %envreg2; ld.param.u64 %rd0, [out];
  ld.global.f64 %g1, [%rd0]; ld.global.f64 %g2, [%rd0+8]; ld.global.f64 %g3, [%rd0+16]; ld.global.f64 %g4, [%rd0+24];
  ld.global.f64 %g5, [%rd0+32]; ld.global.f64 %g6, [%rd0+40]; ld.global.f64 %g7, [%rd0+48]; ld.global.f64 %g8, [%rd0+56];
  add.f64 %g1, %g1, %g2; add.f64 %g3, %g3, %g4; add.f64 %g5, %g5, %g6; add.f64 %g7, %g7, %g8;
  st.global.f64 [%rd0], %g1; st.global.f64 [%rd0], %g3; st.global.f64 [%rd0], %g5; st.global.f64 [%rd0], %g7;
  ret;
})",
                                        80);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto& k = (*program)->kernels();
  ASSERT_EQ(k.size(), 3u);
  EXPECT_EQ(k[0].regs_per_thread, 16u);
  EXPECT_EQ(k[0].max_threads_per_block, 1024u);
  EXPECT_EQ(k[1].max_threads_per_block, 64u);
  EXPECT_EQ(k[2].max_threads_per_block, 256u);
  EXPECT_EQ(k[2].static_smem_bytes, 112u);
  EXPECT_EQ(k[2].local_bytes, 32u);
  EXPECT_TRUE(k[2].uses_grid_barrier);
  EXPECT_GE(k[2].regs_per_thread, 18u);
  EXPECT_LE(k[2].regs_per_thread, 40u);
}

}  // namespace
}  // namespace gacer::simdevice::test
