// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/printer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/ptx/parser.h"

namespace gacer::ptx {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_round_trip(const std::string& text) {
  const auto first = parse(text);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const std::string printed = print(*first);
  const auto second = parse(printed);
  ASSERT_TRUE(second.ok()) << second.error().message << "\n" << printed;
  EXPECT_TRUE(*first == *second);
  EXPECT_EQ(print(*second), printed);
}

class CompilerOutput : public testing::TestWithParam<const char*> {};

TEST_P(CompilerOutput, SurvivesPrintingAndParsing) {
  const std::string text =
      read_file(std::string(GACER_PTX_SAMPLES) + "/sample_" + GetParam() + ".ptx");
  ASSERT_GT(text.size(), 1000u);
  expect_round_trip(text);
}

INSTANTIATE_TEST_SUITE_P(Architectures, CompilerOutput, testing::Values("75", "90", "100"));

TEST(Printer, KeepsEveryKindOfNode) {
  expect_round_trip(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .attribute(.managed) .align 8 .u64 a[2] = {generic(b)+4, 0xFF(b)};
.weak .const .align 4 .v2 .f32 b[2][2] = {{1.5, -2}, {0f3F800000}};
.extern .shared .align 16 .b8 dynamic[];
.alias f, g;
.extern .func (.param .b32 r) g(.param .align 4 .b8 x[8]);
.visible .entry k(.param .u64 .ptr .shared .align 4 p) .maxntid 32, 1 .pragma "nounroll";
{
  .reg .b32 %r<8>, one;
  .reg .pred p, q;
  .pragma "unroll";
  L: t: .branchtargets L, M;
  proto: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;
  { .param .b32 x; st.param.b32 [x+0], -4; call (x), %rd1, (x, x), proto; }
  @!p setp.lt.or.f32 p|q, %f1, 0f80000000, !q;
  M: brx.idx one, t;
  ld.v2.f32 {%f1, _}, [%rd1+-4];
  mov.u64 %rd1, dynamic+16;
  mov.u64 %rd1, b[1];
  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}];
  ld.global.u32 one, [4096];
  bar.sync 0;
  ret;
})");
}

TEST(Printer, PrintsOneInstructionOnOneLine) {
  const auto module =
      parse(".version 8.0\n.target sm_80\n.entry k() { @!%p1  ld.global.f32\n %f1,[%rd2+4] ; }");
  ASSERT_TRUE(module.ok());
  const auto& body = std::get<Function>(module->items[0]).body;
  EXPECT_EQ(print(std::get<Instruction>(body[0].node)), "@!%p1 ld.global.f32 %f1, [%rd2+4];");
}

}  // namespace
}  // namespace gacer::ptx
