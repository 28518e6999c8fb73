// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/program.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/doctor/environment.h"

namespace gacer::tools::doctor {
namespace {

class FindProgram : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gacer-program-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = getenv("PATH");
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  std::string script(const std::string& name, const std::string& text, mode_t mode = 0755) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string folder_, path_;
};

TEST_F(FindProgram, SearchesThePathLikeTheShell) {
  const std::string mine = script("gacer-test-tool", "#!/bin/sh\n");
  EXPECT_EQ(find_program("gacer-test-tool").error().code, ENOENT);
  setenv("PATH", ("/nonexistent:" + folder_ + ":/bin").c_str(), 1);
  const auto found = find_program("gacer-test-tool");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->path, mine);
  EXPECT_EQ(found->scripts, std::vector<std::string>{mine});
  EXPECT_EQ(found->executable, "/bin/sh");
}

TEST_F(FindProgram, LooksThroughEnvAndItsOptions) {
  for (const char* line : {"#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e", "#!/usr/bin/env A=1 sh",
                           "#! /bin/sh -e", "echo a shell script without a line"}) {
    const auto found = find_program(script("tool", std::string(line) + "\n"));
    ASSERT_TRUE(found.ok()) << line;
    EXPECT_EQ(std::filesystem::path(found->executable).filename(), "sh") << line;
  }
}

TEST_F(FindProgram, SaysWhatIsMissingOrNotExecutable) {
  EXPECT_EQ(find_program(folder_ + "/none").error().code, ENOENT);
  EXPECT_EQ(find_program(script("plain", "#!/bin/sh\n", 0644)).error().code, EACCES);
  EXPECT_EQ(find_program(folder_).error().code, EACCES);
  const auto broken = find_program(script("tool", "#!/nonexistent/sh\n"));
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("/nonexistent/sh"), std::string::npos);
}

TEST_F(FindProgram, ScriptsThatRunEachOtherEnd) {
  const std::string path = script("loop", "");
  std::ofstream(path) << "#!" << path << "\n";
  EXPECT_EQ(find_program(path).error().code, ELOOP);
}

Program ordinary() {
  Program program;
  program.executable = "/a/program";
  program.elf.is_64_bit = program.elf.is_dynamic = program.elf.has_entry = true;
  program.elf.machine = EM_X86_64;
  program.elf.interpreter = "/lib64/ld-linux-x86-64.so.2";
  return program;
}

std::string obstacle_of(const Program& program) {
  const auto obstacle = preload_obstacle(program, EM_X86_64);
  return obstacle ? obstacle->word : "";
}

TEST(PreloadObstacle, NoneForAnOrdinaryProgram) {
  EXPECT_EQ(obstacle_of(ordinary()), "");
}

TEST(PreloadObstacle, CON_14_EachKindIsNamed) {
  Program program = ordinary();
  program.elf.machine = EM_AARCH64;
  EXPECT_EQ(obstacle_of(program), "architecture");
  program = ordinary();
  program.elf.is_64_bit = false;
  EXPECT_EQ(obstacle_of(program), "architecture");
  program = ordinary();
  program.elf.interpreter = "";
  EXPECT_EQ(obstacle_of(program), "static");
  program = ordinary();
  program.elf.interpreter = "/lib/ld-musl-x86_64.so.1";
  EXPECT_EQ(obstacle_of(program), "musl");
  program = ordinary();
  program.gains_privileges = true;
  EXPECT_EQ(obstacle_of(program), "setuid");
  program = ordinary();
  program.elf.interpreter = "/system/bin/linker64";
  EXPECT_EQ(obstacle_of(program), "loader");
}

TEST(LibraryList, ReadsTheLoadersWords) {
  const auto libraries = parse_library_list(
      "\tlinux-vdso.so.1 (0x00007ffd)\n"
      "\t/a b/libgacer.so (0x00007f01)\n"
      "\tlibcuda.so.1 => /opt/own/libcuda.so.1 (0x00007f02)\n"
      "\tlibcudart.so.12 => not found\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f03)\n");
  ASSERT_EQ(libraries.size(), 4u);
  EXPECT_EQ(libraries[0].path, "/a b/libgacer.so");
  EXPECT_EQ(libraries[1].name, "libcuda.so.1");
  EXPECT_EQ(libraries[1].path, "/opt/own/libcuda.so.1");
  EXPECT_EQ(libraries[2].name, "libcudart.so.12");
  EXPECT_EQ(libraries[2].path, "");
}

TEST(LibraryList, HoldsTheLibrariesOfARealProgram) {
  const auto shell = find_program("/bin/sh");
  ASSERT_TRUE(shell.ok());
  bool found = false;
  for (const LoadedLibrary& library : list_libraries(*shell, {}))
    found |= library.name == "libc.so.6" && !library.path.empty();
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace gacer::tools::doctor
