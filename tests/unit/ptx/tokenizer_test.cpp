// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gacer::ptx {
namespace {

std::vector<Token> all_tokens(std::string_view text) {
  Tokenizer tokenizer(text);
  std::vector<Token> out;
  do out.push_back(tokenizer.next());
  while (out.back().kind != TokenKind::kEnd && out.back().kind != TokenKind::kBad);
  return out;
}

struct OneTokenCase {
  const char* text;
  TokenKind kind;
  const char* token;
};

class OneToken : public testing::TestWithParam<OneTokenCase> {};

TEST_P(OneToken, IsReadWhole) {
  const auto tokens = all_tokens(GetParam().text);
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].kind, GetParam().kind);
  EXPECT_EQ(tokens[0].text, GetParam().token);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OneToken,
    testing::Values(OneTokenCase{"%r12", TokenKind::kIdentifier, "%r12"},
                    OneTokenCase{"$L__BB0_2", TokenKind::kIdentifier, "$L__BB0_2"},
                    OneTokenCase{"_", TokenKind::kIdentifier, "_"},
                    OneTokenCase{".L1::evict_last", TokenKind::kDotted, "L1::evict_last"},
                    OneTokenCase{".2d", TokenKind::kDotted, "2d"},
                    OneTokenCase{"0x1F", TokenKind::kInteger, "0x1F"},
                    OneTokenCase{"12U", TokenKind::kInteger, "12U"},
                    OneTokenCase{"0b101", TokenKind::kInteger, "0b101"},
                    OneTokenCase{"0f3F800000", TokenKind::kFloat, "0f3F800000"},
                    OneTokenCase{"0d3FF0000000000000", TokenKind::kFloat, "0d3FF0000000000000"},
                    OneTokenCase{"1.5e-3", TokenKind::kFloat, "1.5e-3"},
                    OneTokenCase{"9.0", TokenKind::kFloat, "9.0"},
                    OneTokenCase{"\"a \\\" b\"", TokenKind::kString, "a \\\" b"},
                    OneTokenCase{"<<", TokenKind::kPunct, "<<"}));

TEST(Tokenizer, SkipsCommentsAndCountsLines) {
  const auto tokens = all_tokens("a // one\n/* two\nthree */ b");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0].line, 1u);
  EXPECT_EQ(tokens[1].text, "b");
  EXPECT_EQ(tokens[1].line, 3u);
}

TEST(Tokenizer, SplitsAnInstruction) {
  std::vector<std::string> texts;
  for (const auto& t : all_tokens("@!%p1 ld.global.v2.f32 {%f1,_}, [%rd1+-4];"))
    texts.emplace_back(t.text);
  const std::vector<std::string> expected = {"@",    "!",   "%p1", "ld", "global", "v2", "f32",
                                             "{",    "%f1", ",",   "_",  "}",      ",",  "[",
                                             "%rd1", "+",   "-",   "4",  "]",      ";",  ""};
  EXPECT_EQ(texts, expected);
}

class BadToken : public testing::TestWithParam<const char*> {};

TEST_P(BadToken, SaysWhy) {
  const auto tokens = all_tokens(GetParam());
  EXPECT_EQ(tokens.back().kind, TokenKind::kBad);
  EXPECT_FALSE(tokens.back().text.empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, BadToken,
                         testing::Values("/* never ends", "\"never ends", "\"line\nbreak\"", "0x",
                                         "0f12", "0d12345678", "12abc", "`", "\x80", "0b2"));

}  // namespace
}  // namespace gacer::ptx
