// SPDX-License-Identifier: Apache-2.0
#include "tools/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace gacer::tools {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ElfFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gacer-elf-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& bytes) {
    std::ofstream(folder_ + "/file", std::ios::binary) << bytes;
    return folder_ + "/file";
  }
  std::string folder_;
};

TEST_F(ElfFileTest, ReadsThisProgram) {
  const auto elf = read_elf("/proc/self/exe");
  ASSERT_TRUE(elf.ok());
  EXPECT_TRUE(elf->is_64_bit);
  EXPECT_NE(elf->interpreter.find("/ld-"), std::string::npos);
  EXPECT_FALSE(elf->is_static());
  EXPECT_NE(std::find(elf->needed.begin(), elf->needed.end(), "libc.so.6"), elf->needed.end());
  EXPECT_FALSE(greatest_version(elf->needed_versions, "GLIBC_").empty());
}

TEST_F(ElfFileTest, OtherFilesAreRefused) {
  EXPECT_EQ(read_elf(write("#!/bin/sh\n")).error().code, ENOEXEC);
  EXPECT_EQ(read_elf(write("")).error().code, ENOEXEC);
  EXPECT_EQ(read_elf("/").error().code, ENOEXEC);
  EXPECT_EQ(read_elf(folder_ + "/none").error().code, ENOENT);
}

TEST_F(ElfFileTest, EveryCutIsSurvived) {
  const std::string whole = bytes_of("/proc/self/exe");
  for (size_t bytes = 1; bytes < 4096; bytes += 13)
    [[maybe_unused]] const bool read = read_elf(write(whole.substr(0, bytes))).ok();
}

TEST_F(ElfFileTest, DamagedFilesAreSurvived) {
  const std::string whole = bytes_of("/bin/sh");
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 40; ++i) damaged[random() % 1024] = static_cast<char>(random());
    memcpy(damaged.data(), ELFMAG, SELFMAG);
    damaged[EI_CLASS] = ELFCLASS64;
    damaged[EI_DATA] = ELFDATA2LSB;
    [[maybe_unused]] const bool read = read_elf(write(damaged)).ok();
  }
}

TEST(Versions, AreComparedAsNumbers) {
  EXPECT_TRUE(version_less("2.4", "2.34"));
  EXPECT_FALSE(version_less("2.34", "2.4"));
  EXPECT_FALSE(version_less("2.34", "2.34"));
  EXPECT_TRUE(version_less("2.34", "2.34.1"));
  EXPECT_TRUE(version_less("", "2"));
  EXPECT_FALSE(version_less("PRIVATE", ""));
}

TEST(Versions, TheGreatestOfOneFamilyIsTaken) {
  EXPECT_EQ(greatest_version({"GLIBC_2.4", "GLIBC_2.34", "GCC_3.0", "GLIBC_2.17"}, "GLIBC_"),
            "2.34");
  EXPECT_EQ(greatest_version({"GCC_3.0"}, "GLIBC_"), "");
}

}  // namespace
}  // namespace gacer::tools
