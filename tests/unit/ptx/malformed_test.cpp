// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/ptx/parser.h"

namespace gacer::ptx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

struct Malformed {
  const char* name;
  const char* text;       // after the three header lines
  const char* line;       // expected prefix
  const char* complaint;  // expected somewhere
};

class MalformedText : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedText, GivesOneErrorWithItsLine) {
  const auto module = parse(std::string(kHeader) + GetParam().text);
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, StartsWith(GetParam().line));
  EXPECT_THAT(module.error().message, HasSubstr(GetParam().complaint));
  EXPECT_EQ(module.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, MalformedText,
    testing::Values(
        Malformed{"NoSemicolon", ".entry k() {\n ret %r1\n}", "line 6:", "expected ';'"},
        Malformed{"NoClosingBrace", ".entry k() {\n ret;\n", "line 6:", "does not end"},
        Malformed{"ExtraBrace", ".entry k() { ret; } }", "line 4:", "expected a directive"},
        Malformed{"UnknownWordInDeclaration", "\n.global .q32 a;",
                  "line 5:", "unknown declaration word"},
        Malformed{"NoType", ".global a;", "line 4:", "needs a type"},
        Malformed{"NoSpace", ".u32 a;", "line 4:", "needs a state space"},
        Malformed{"BadAlignment", ".global .align 3 .u32 a;", "line 4:", "power of two"},
        Malformed{"BadArraySize", ".global .u32 a[0];", "line 4:", "positive integer"},
        Malformed{"HugeRegisterCount", ".entry k() { .reg .b32 %r<99999999>; }",
                  "line 4:", "too large"},
        Malformed{"NumberTooLarge", ".entry k() { mov.u64 %r, 99999999999999999999; }",
                  "line 4:", "64 bits"},
        Malformed{"DivisionByZero", ".entry k() { mov.u64 %r, 4/0; }",
                  "line 4:", "division by zero"},
        Malformed{"GuardWithoutName", ".entry k() { @; }", "line 4:", "expected"},
        Malformed{"OperandMissing", ".entry k() { mov.u32 %r1,; }",
                  "line 4:", "expected a constant"},
        Malformed{"VectorOpen", ".entry k() { mov.b64 {%r1,%r2, %rd1; }",
                  "line 4:", "expected '}'"},
        Malformed{"AddressOpen", ".entry k() { ld.u32 %r1, [%rd1; }", "line 4:", "expected ']'"},
        Malformed{"StringOpen", ".file 1 \"abc\n", "line 4:", "string does not end"},
        Malformed{"CommentOpen", "/* abc\n\n", "line 4:", "comment does not end"},
        Malformed{"StrayCharacter", ".entry k() { ret; } `", "line 4:", "does not use"},
        Malformed{"InitialiserOpen", ".global .u32 a[2] = {1, 2;", "line 4:", "expected '}'"},
        Malformed{"AddressSize", ".address_size 48", "line 4:", "32 or 64"},
        Malformed{"ControlByte", ".entry k() { \001 }", "line 4:", "does not use"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(MalformedHeader, IsNamed) {
  EXPECT_THAT(parse("").error().message, HasSubstr(".version"));
  EXPECT_THAT(parse("ELF").error().message, StartsWith("line 1:"));
  EXPECT_THAT(parse(".version 8.0\n.entry").error().message, StartsWith("line 2:"));
  EXPECT_THAT(parse(".version 8.0\n.target ;").error().message, HasSubstr("sm_80"));
}

std::string repeated(const std::string& piece, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += piece;
  return out;
}

TEST(DeepNesting, IsRefusedNotFollowed) {
  const size_t deep = 200'000;
  for (const std::string& text :
       {".entry k() " + repeated("{", deep), ".global .u32 a = " + repeated("{", deep),
        ".entry k() { mov.u32 %r, " + repeated("(", deep),
        ".entry k() { mov.u32 %r, " + repeated("-", deep),
        ".entry k() { mov.u32 %r, " + repeated("{", deep),
        ".entry k() { call " + repeated("(", deep)}) {
    const auto module = parse(kHeader + text);
    ASSERT_FALSE(module.ok());
    EXPECT_THAT(module.error().message, HasSubstr("nested deeper"));
  }
}

TEST(LongText, IsReadInProportion) {
  const std::string text = kHeader + std::string(".entry k() {\n") +
                           repeated("add.s32 %r1, %r2, 1+2+3+4;\n", 50'000) + "}";
  const auto module = parse(text);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(std::get<Function>(module->items[0]).body.size(), 50'000u);
}

// Every prefix of a real module, and the module with single bytes changed: an error or a tree,
// never a crash.
TEST(DamagedText, NeverCrashes) {
  std::ifstream file(std::string(GACER_PTX_SAMPLES) + "/sample_75.ptx");
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str().substr(0, 12'000);
  ASSERT_GT(text.size(), 1000u);
  size_t refused = 0;
  for (size_t cut = 0; cut < text.size(); cut += 37)
    refused += !parse(std::string_view(text).substr(0, cut)).ok();
  uint32_t seed = 12345;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 3; ++k) {
      seed = seed * 1664525u + 1013904223u;
      damaged[seed % damaged.size()] = static_cast<char>(seed >> 24);
    }
    refused += !parse(damaged).ok();
  }
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace gacer::ptx
