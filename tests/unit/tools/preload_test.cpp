// SPDX-License-Identifier: Apache-2.0
#include "tools/preload.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/command.h"

namespace gacer::tools {
namespace {

TEST(Preload, StandsAloneWhereNothingWas) {
  EXPECT_EQ(with_preload("", "/s.so"), "/s.so");
}

TEST(Preload, GoesFirstAndKeepsTheOthersInOrder) {
  EXPECT_EQ(with_preload("/b.so:/a.so", "/s.so"), "/s.so:/b.so:/a.so");
  EXPECT_EQ(with_preload("/b.so /a.so", "/s.so"), "/s.so:/b.so:/a.so");
  EXPECT_EQ(with_preload("::/b.so: ", "/s.so"), "/s.so:/b.so");
}

TEST(Preload, IsThereOnlyOnce) {
  const std::string once = with_preload("/b.so:/s.so:/a.so:/s.so", "/s.so");
  EXPECT_EQ(once, "/s.so:/b.so:/a.so");
  EXPECT_EQ(with_preload(once, "/s.so"), once);
}

class FindShim : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gacer-shim-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override {
    unsetenv("GACER_SHIM");
    std::filesystem::remove_all(folder_);
  }
  std::string make(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "x";
    setenv("GACER_SHIM", path.c_str(), 1);
    return path;
  }
  void expect_refused(const char* text) {
    try {
      find_shim();
      FAIL() << "found a shim";
    } catch (const ToolError& error) {
      EXPECT_EQ(error.code(), kExitRefused);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
  std::string folder_;
};

TEST_F(FindShim, TakesTheNamedFile) {
  const std::string path = make("libgacer.so");
  EXPECT_EQ(find_shim(), path);
}

TEST_F(FindShim, MakesARelativePathAbsolute) {
  const std::string path = make("libgacer.so");
  setenv("GACER_SHIM", std::filesystem::relative(path).c_str(), 1);
  EXPECT_EQ(find_shim(), path);
}

TEST_F(FindShim, NamesAMissingFileAndTheWayOut) {
  setenv("GACER_SHIM", "/nonexistent/libgacer.so", 1);
  expect_refused("GACER_SHIM");
}

TEST_F(FindShim, RefusesAPathThatLdPreloadCannotName) {
  make("a b/libgacer.so");
  expect_refused("space or colon");
  make("a:b/libgacer.so");
  expect_refused("space or colon");
}

}  // namespace
}  // namespace gacer::tools
