// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace gacer::interpose {
namespace {

using Paths = std::vector<std::string>;

bool collect(void* context, const char* path) {
  static_cast<Paths*>(context)->push_back(path);
  return false;
}
bool take_first(void* context, const char* path) {
  static_cast<Paths*>(context)->push_back(path);
  return true;
}

std::string cache_file(const std::string& content) {
  const std::string path = testing::TempDir() + "/ld.so.cache.test";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

// One entry in the loader's format: header, entry, strings.
std::string cache_with(const std::string& name, const std::string& path, int32_t flags) {
  std::string file = "glibc-ld.so.cache1.1";
  const auto number = [&file](auto value) {
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  number(uint32_t{1});
  number(static_cast<uint32_t>(name.size() + path.size() + 2));
  for (int i = 0; i < 5; ++i) number(uint32_t{0});
  const uint32_t strings = 48 + 24;
  number(flags);
  number(strings);
  number(static_cast<uint32_t>(strings + name.size() + 1));
  number(uint32_t{0});
  number(uint64_t{0});
  return file + name + '\0' + path + '\0';
}

TEST(DriverSearch, given_a_path_list_then_absolute_folders_are_tried_in_order) {
  Paths paths;
  EXPECT_FALSE(visit_path_list("/a:relative::/b/c", &collect, &paths));
  EXPECT_EQ(paths, (Paths{"/a/libcuda.so.1", "/b/c/libcuda.so.1"}));
  EXPECT_FALSE(visit_path_list(nullptr, &collect, &paths));
}

TEST(DriverSearch, given_an_accepted_candidate_then_the_search_ends) {
  Paths paths;
  EXPECT_TRUE(visit_path_list("/a:/b", &take_first, &paths));
  EXPECT_EQ(paths.size(), 1u);
}

TEST(DriverSearch, given_a_named_driver_then_nothing_else_is_tried) {
  setenv("GACER_REAL_LIBCUDA", "/x/driver.so", 1);
  setenv("LD_LIBRARY_PATH", "/a", 1);
  Paths paths;
  EXPECT_FALSE(visit_driver_candidates(&collect, &paths));
  EXPECT_EQ(paths, Paths{"/x/driver.so"});
  unsetenv("GACER_REAL_LIBCUDA");
  unsetenv("LD_LIBRARY_PATH");
}

TEST(DriverSearch, given_a_loader_cache_then_64_bit_entries_of_the_driver_are_found) {
  Paths paths;
  visit_loader_cache(
      cache_file(cache_with("libcuda.so.1", "/opt/lib/libcuda.so.1", 0x0303)).c_str(), &collect,
      &paths);
  EXPECT_EQ(paths, Paths{"/opt/lib/libcuda.so.1"});
  visit_loader_cache(
      cache_file(cache_with("libcuda.so.1", "/opt/lib32/libcuda.so.1", 0x0803)).c_str(), &collect,
      &paths);
  visit_loader_cache(cache_file(cache_with("libm.so.6", "/lib/libm.so.6", 0x0303)).c_str(),
                     &collect, &paths);
  EXPECT_EQ(paths.size(), 1u);
}

TEST(DriverSearch, given_a_damaged_loader_cache_then_it_is_read_as_empty) {
  const std::string whole = cache_with("libcuda.so.1", "/opt/lib/libcuda.so.1", 0x0303);
  for (size_t length = 0; length < whole.size(); ++length) {
    Paths paths;
    visit_loader_cache(cache_file(whole.substr(0, length)).c_str(), &collect, &paths);
    EXPECT_TRUE(paths.empty()) << length;
  }
  std::string many = whole;
  const uint32_t count = UINT32_MAX;
  memcpy(many.data() + 20, &count, sizeof count);
  Paths paths;
  EXPECT_FALSE(visit_loader_cache(cache_file(many).c_str(), &collect, &paths));
  EXPECT_FALSE(visit_loader_cache("/nonexistent", &collect, &paths));
  EXPECT_TRUE(paths.empty());
}

}  // namespace
}  // namespace gacer::interpose
