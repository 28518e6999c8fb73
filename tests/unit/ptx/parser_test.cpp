// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/parser.h"

#include <gtest/gtest.h>

#include <string>

namespace gacer::ptx {
namespace {

Module parsed(const std::string& body) {
  auto module = parse(".version 8.0\n.target sm_80, debug\n.address_size 64\n" + body);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().message);
  return module.ok() ? *module : Module{};
}

// The only instruction of a kernel.
Instruction instruction(const std::string& text) {
  const Module module = parsed(".entry k() {\n" + text + "\n}");
  if (module.items.empty()) return {};
  const auto& body = std::get<Function>(module.items[0]).body;
  EXPECT_EQ(body.size(), 1u);
  return body.empty() ? Instruction{} : std::get<Instruction>(body[0].node);
}

TEST(Parser, ReadsTheHeader) {
  const Module module = parsed("");
  EXPECT_EQ(module.version, "8.0");
  EXPECT_EQ(module.target, (std::vector<std::string>{"sm_80", "debug"}));
  EXPECT_EQ(module.address_size, 64u);
}

TEST(Parser, ReadsVariablesWithInitialValues) {
  const Module module = parsed(
      ".global .align 4 .u32 a;\n"
      ".visible .global .align 8 .u64 b[2] = {generic(a)+4, 0xFF(a)};\n"
      ".const .f64 c[2][3] = {{1.0, 0d4000000000000000}, {3}};\n"
      ".extern .shared .align 16 .b8 d[];");
  ASSERT_EQ(module.items.size(), 4u);
  const auto& b = std::get<Variable>(module.items[1]);
  EXPECT_EQ(b.linkage, "visible");
  EXPECT_EQ(b.space, Space::kGlobal);
  EXPECT_EQ(b.bytes(), 16u);
  ASSERT_EQ(b.initial->elements.size(), 2u);
  EXPECT_TRUE(b.initial->elements[0].generic);
  EXPECT_EQ(b.initial->elements[0].symbol, "a");
  EXPECT_EQ(b.initial->elements[0].offset->bits, 4u);
  EXPECT_TRUE(b.initial->elements[1].masked);
  const auto& c = std::get<Variable>(module.items[2]);
  EXPECT_EQ(c.bytes(), 48u);
  EXPECT_EQ(c.initial->elements[0].elements[1].value.as_double(), 2.0);
  const auto& d = std::get<Variable>(module.items[3]);
  EXPECT_EQ(d.bytes(), std::nullopt);
  EXPECT_EQ(d.natural_align(), 16u);
}

TEST(Parser, ReadsConstantExpressions) {
  const Module module = parsed(
      ".global .f64 a[3] = {.5, 2., -.25e1};\n"
      ".global .s32 b[4] = {1 ? 2 : 3, (4 > 5) ? 6 : 7 + 1, !0, ~0 & 0xF0};");
  ASSERT_EQ(module.items.size(), 2u);
  const auto value = [&](size_t variable, size_t element) {
    return std::get<Variable>(module.items[variable]).initial->elements[element].value;
  };
  EXPECT_EQ(value(0, 0).as_double(), 0.5);
  EXPECT_EQ(value(0, 1).as_double(), 2.0);
  EXPECT_EQ(value(0, 2).as_double(), -2.5);
  EXPECT_EQ(value(1, 0).bits, 2u);
  EXPECT_EQ(value(1, 1).bits, 8u);
  EXPECT_EQ(value(1, 2).bits, 1u);
  EXPECT_EQ(value(1, 3).bits, 0xF0u);
  EXPECT_FALSE(parse(".version 8.0\n.target sm_80\n.global .u32 a = 1.5 ? 2 : 3;").ok());
  EXPECT_FALSE(parse(".version 8.0\n.target sm_80\n.global .u32 a = 1 ? 2;").ok());
}

TEST(Parser, ReadsTheDirectivesThatCompilersWrite) {
  const Module module = parsed(
      "// a comment\n"
      ".file 1 \"a b/c.cu\", 1234567, 5678\n"
      ".weak .global .attribute(.managed) .align 4 .u32 m = 1;\n"
      ".global .attribute(.unified(0xAB, 0xCD)) .f32 u;\n"
      ".func stop (.param .b32 x) .noreturn .abi_preserve 4 .abi_preserve_control 2 { trap; }\n"
      ".visible .entry plain\n.maxnreg 64\n.maxntid 256, 1, 1\n{ ret; }\n"
      ".entry clusters ()\n.reqntid 128\n.reqnctapercluster 2, 1, 1\n.explicitcluster\n{\n"
      ".loc 1 22 3\n"
      ".loc 1 23 5, function_name $L__info_string0+8, inlined_at 1 10 7\n"
      ".pragma \"used_bytes_mask 0xfff\";\n"
      "p: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]);\n"
      "t: .branchtargets a, b;\nc: .calltargets f, g;\na: b: ret;\n}\n"
      ".section .debug_str { $L__info_string0: .b8 1,2,3,0\n .b32 .debug_abbrev\n .b64 plain+4 "
      "}\n");
  ASSERT_EQ(module.items.size(), 5u);
  EXPECT_EQ(std::get<Variable>(module.items[0]).attributes, ".managed");
  EXPECT_NE(std::get<Function>(module.items[2]).directive("noreturn"), nullptr);
  EXPECT_EQ(std::get<Function>(module.items[3]).directive("maxnreg")->arguments[0], "64");
  const auto& clusters = std::get<Function>(module.items[4]);
  EXPECT_EQ(clusters.directive("reqnctapercluster")->arguments.size(), 3u);
  EXPECT_NE(clusters.directive("explicitcluster"), nullptr);
}

TEST(Parser, ReadsAnEntryWithParametersAndDirectives) {
  const Module module = parsed(
      ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24])\n"
      ".maxntid 128, 2, 1\n.minnctapersm 2\n.pragma \"nounroll\";\n{ ret; }");
  const auto& f = std::get<Function>(module.items.at(0));
  EXPECT_TRUE(f.is_entry);
  EXPECT_TRUE(f.has_body);
  ASSERT_EQ(f.params.size(), 2u);
  EXPECT_TRUE(f.params[0].is_pointer);
  EXPECT_EQ(f.params[0].pointee, Space::kGlobal);
  EXPECT_EQ(f.params[0].pointee_align, 16u);
  EXPECT_EQ(f.params[1].bytes(), 24u);
  ASSERT_EQ(f.directives.size(), 3u);
  EXPECT_EQ(f.directive("maxntid")->arguments, (std::vector<std::string>{"128", "2", "1"}));
  EXPECT_EQ(f.directives[2].arguments[0], "nounroll");
}

TEST(Parser, ReadsFunctionsAndPrototypes) {
  const Module module = parsed(
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".func (.param .b32 r) f(.param .b32 x) .noreturn {\n"
      "  p: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;\n"
      "  t: .branchtargets A, B;\n"
      "  A: B: call (r), %rd1, (x), p;\n}");
  const auto& declared = std::get<Function>(module.items.at(0));
  EXPECT_FALSE(declared.has_body);
  EXPECT_EQ(declared.linkage, "extern");
  const auto& f = std::get<Function>(module.items.at(1));
  ASSERT_EQ(f.body.size(), 5u);
  EXPECT_EQ(std::get<Prototype>(f.body[0].node).params.size(), 1u);
  EXPECT_EQ(std::get<TargetList>(f.body[1].node).targets, (std::vector<std::string>{"A", "B"}));
  const auto& call = std::get<Instruction>(f.body[4].node);
  ASSERT_EQ(call.operands.size(), 4u);
  EXPECT_EQ(call.operands[0].kind, Operand::Kind::kTuple);
  EXPECT_EQ(call.operands[1].name, "%rd1");
}

TEST(Parser, ReadsNestedScopesAndSkipsDebugInformation) {
  const Module module = parsed(
      ".file 1 \"a.cu\", 123, 456\n"
      ".entry k() {\n .reg .b32 %r<4>;\n .loc 1 5 3\n { .reg .b32 t, u; mov.b32 t, u; }\n"
      " .loc 1 6 1, function_name $L0+4, inlined_at 1 2 3\n ret;\n}\n"
      ".section .debug_str { .b8 1, 2 }");
  ASSERT_EQ(module.items.size(), 1u);
  const auto& body = std::get<Function>(module.items[0]).body;
  ASSERT_EQ(body.size(), 3u);
  EXPECT_EQ(std::get<Declaration>(body[0].node).variables[0].count, 4u);
  EXPECT_EQ(std::get<Scope>(body[1].node).body.size(), 2u);
}

TEST(Parser, ReadsGuardsAndVectors) {
  const Instruction in =
      instruction("@!%p1 ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, _, %f4}, [%rd1+-16];");
  EXPECT_EQ(in.guard, (Guard{"%p1", true}));
  EXPECT_EQ(in.opcode, "ld");
  EXPECT_EQ(in.modifiers,
            (std::vector<std::string>{"global", "nc", "L1::no_allocate", "v4", "f32"}));
  ASSERT_EQ(in.operands.size(), 2u);
  EXPECT_EQ(in.operands[0].elements[2].name, "_");
  EXPECT_EQ(in.operands[1].name, "%rd1");
  EXPECT_EQ(static_cast<int64_t>(in.operands[1].offset->bits), -16);
  EXPECT_EQ(in.line.number, 5u);
}

TEST(Parser, ReadsPairsNegationsAndSpecialRegisters) {
  const Instruction in = instruction("setp.lt.and.s32 %p|%q, %tid.x, -5, !%p2;");
  EXPECT_EQ(in.operands[0].second, "%q");
  EXPECT_EQ(in.operands[1].name, "%tid.x");
  EXPECT_EQ(static_cast<int64_t>(in.operands[2].offset->bits), -5);
  EXPECT_TRUE(in.operands[3].negated);
}

struct ConstantCase {
  const char* text;
  int64_t value;
};
class ConstantExpression : public testing::TestWithParam<ConstantCase> {};

TEST_P(ConstantExpression, HasItsValue) {
  const Instruction in = instruction("mov.u64 %rd1, " + std::string(GetParam().text) + ";");
  ASSERT_EQ(in.operands.size(), 2u);
  EXPECT_EQ(static_cast<int64_t>(in.operands[1].offset->bits), GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, ConstantExpression,
                         testing::Values(ConstantCase{"4", 4}, ConstantCase{"0x10", 16},
                                         ConstantCase{"017", 15}, ConstantCase{"0b101", 5},
                                         ConstantCase{"7U", 7}, ConstantCase{"-3", -3},
                                         ConstantCase{"2+3*4", 14}, ConstantCase{"(2+3)*4", 20},
                                         ConstantCase{"1<<4|3", 19}, ConstantCase{"~0", -1},
                                         ConstantCase{"!5", 0}, ConstantCase{"7 % 4-1", 2},
                                         ConstantCase{"-8>>1", -4}, ConstantCase{"3>2&&1", 1},
                                         ConstantCase{"(.s64)5+1", 6}, ConstantCase{"10/3", 3}));

TEST(Parser, ReadsHexadecimalFloats) {
  const Instruction in = instruction("fma.rn.f32 %f1, 0f3F800000, 0dBFF0000000000000, 1.5;");
  EXPECT_EQ(in.operands[1].offset->kind, Immediate::Kind::kFloat32);
  EXPECT_EQ(in.operands[1].offset->bits, 0x3F800000u);
  EXPECT_EQ(in.operands[2].offset->as_double(), -1.0);
  EXPECT_EQ(in.operands[3].offset->as_double(), 1.5);
}

TEST(Parser, LinesTakeNoPartInComparisons) {
  EXPECT_EQ(parsed(".entry k() { ret; }"), parsed("\n\n.entry k()\n{\n ret;\n}\n"));
  EXPECT_NE(parsed(".entry k() { ret; }"), parsed(".entry k() { exit; }"));
}

}  // namespace
}  // namespace gacer::ptx
