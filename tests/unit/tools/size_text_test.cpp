// SPDX-License-Identifier: Apache-2.0
#include "tools/size_text.h"

#include <gtest/gtest.h>

namespace gacer::tools {
namespace {

TEST(SizeText, ReadsNumbersWithSuffixes) {
  const struct {
    const char* text;
    uint64_t bytes;
  } rows[] = {
      {"1", 1},
      {"512", 512},
      {"7b", 7},
      {"2k", 2048},
      {"2K", 2048},
      {"3M", 3ull << 20},
      {"8G", 8ull << 30},
      {"1.5g", 3ull << 29},
      {"1T", 1ull << 40},
      {"4GiB", 4ull << 30},
      {"4gb", 4'000'000'000},
      {"10MB", 10'000'000},
      {".5G", 1ull << 29},
  };
  for (const auto& row : rows) {
    const auto bytes = parse_size(row.text);
    ASSERT_TRUE(bytes.ok()) << row.text;
    EXPECT_EQ(*bytes, row.bytes) << row.text;
  }
}

TEST(SizeText, RefusesEverythingElseWithTheTextInTheLine) {
  for (const char* text : {"", "0", "x", "-1", "+1", "1X", "1GG", "1 G", "1e3", "nan", "inf",
                           "0x10", ".", "1.2.3", "99999999999G", "1Gi", "0.1"}) {
    const auto bytes = parse_size(text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_NE(bytes.error().message.find(std::string("'") + text + "'"), std::string::npos);
  }
}

TEST(SizeText, WritesPowersOf1024) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_size(uint64_t{8} << 30), "8.0 GiB");
  EXPECT_EQ(format_size(UINT64_MAX), "16.0 EiB");
}

}  // namespace
}  // namespace gacer::tools
