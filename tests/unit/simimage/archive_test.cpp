// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/archive.h"

#include <gtest/gtest.h>

namespace gacer::simdevice {
namespace {

std::string field(std::string text, size_t bytes) {
  text.resize(bytes, ' ');
  return text;
}
std::string member(const std::string& name, const std::string& content) {
  return field(name, 16) + field("0", 32) + field(std::to_string(content.size()), 10) + "`\n" +
         content + (content.size() % 2 != 0 ? "\n" : "");
}
std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
std::string text_of(const ArchiveMember& member) {
  return {member.bytes.begin(), member.bytes.end()};
}

TEST(Archive, GivesMembersWithShortAndLongNamesButNoTables) {
  const std::string archive = "!<arch>\n" + member("/", "symbols") +
                              member("//", "a_very_long_member_name.o/\nb.o/\n") +
                              member("short.o/", "one") + member("/0", "two!");
  const auto members = archive_members(bytes_of(archive));
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ((*members)[0].name, "short.o");
  EXPECT_EQ(text_of((*members)[0]), "one");
  EXPECT_EQ((*members)[1].name, "a_very_long_member_name.o");
  EXPECT_EQ(text_of((*members)[1]), "two!");
}

TEST(Archive, WhatIsCutShortOrMalformedIsNone) {
  const std::string archive = "!<arch>\n" + member("short.o/", "content");
  for (size_t bytes = 10; bytes < archive.size() - 1; ++bytes)
    EXPECT_FALSE(archive_members(bytes_of(archive.substr(0, bytes)))) << bytes;
  std::string odd = archive;
  odd.replace(8 + 48, 10, "xyz       ");
  EXPECT_FALSE(archive_members(bytes_of(odd)));
  EXPECT_FALSE(archive_members(bytes_of("no archive")));
}

}  // namespace
}  // namespace gacer::simdevice
