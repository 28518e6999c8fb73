// SPDX-License-Identifier: Apache-2.0
// A short, seeded run of the fuzzing target for every build: words of real modules are swapped,
// doubled, dropped and replaced. It fails by crashing, by a sanitizer, or by the target's own
// abort.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/fuzz/ptx/ptx_target.h"

namespace gacer::fuzz {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Words and single characters, with the white space after them.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '$';
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && is_word(text[i]) && is_word(text[end])) ++end;
    while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])) != 0) ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

// Registers, numbers, words, signs: exchanging like for like keeps more of the text well-formed.
int kind_of(const std::string& word) {
  const unsigned char c = word.empty() ? ' ' : static_cast<unsigned char>(word[0]);
  return c == '%' ? 0 : std::isdigit(c) != 0 ? 1 : std::isalpha(c) != 0 ? 2 : 3;
}

std::string mutate(std::vector<std::string> words, std::mt19937& random) {
  const auto any = [&] { return static_cast<size_t>(random() % words.size()); };
  const uint64_t changes = 1 + random() % 3;
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t at = any();
    if (random() % 4 != 0) {
      size_t like = any();
      for (int tries = 0; tries < 20 && kind_of(words[like]) != kind_of(words[at]); ++tries)
        like = any();
      words[at] = words[like];
      continue;
    }
    switch (random() % 5) {
      case 0:
        std::swap(words[at], words[any()]);
        break;
      case 1:
        words[at] = words[any()];
        break;
      case 2:
        words[at].clear();
        break;
      case 3:
        words[at] += words[at];
        break;
      default: {
        constexpr const char* kOdd[] = {"0 ",     "-1 ",    "4294967295 ", "99999999999999999999 ",
                                        "{ ",     "} ",     "_ ",          "0f7FC00000 ",
                                        "%r1 ",   "%rd1 ",  "%p1 ",        "@%p1 ",
                                        ".v4",    ".b128 ", ".cc",         "[4]",
                                        "exit; ", "; "};
        words[at] = kOdd[random() % std::size(kOdd)];
      }
    }
  }
  std::string out;
  for (const auto& word : words) out += word;
  return out;
}

TEST(PtxMutation, NeitherParserNorExecutorBreaks) {
  std::mt19937 random(20240);
  size_t files = 0, compiled = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GACER_PTX_CORPUS)) {
    const std::string text = read_file(entry.path());
    ASSERT_FALSE(text.empty());
    // Once found by fuzzing: kept for what they did, whether they run or not.
    const bool found = entry.path().filename().string().starts_with("found_");
    EXPECT_TRUE(run_ptx(text) || found) << entry.path();
    const auto words = words_of(text);
    for (int i = 0; i < 1500; ++i) compiled += run_ptx(mutate(words, random));
    ++files;
  }
  EXPECT_GE(files, 3u);
  // Damage of both kinds: some is refused, some runs.
  EXPECT_GT(compiled, 100u);
  EXPECT_LT(compiled, files * 1400);
}

}  // namespace
}  // namespace gacer::fuzz
