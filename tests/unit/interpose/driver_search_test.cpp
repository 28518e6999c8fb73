// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver_search.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "interpose/run_paths.h"

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

TEST(DriverSearch, given_relative_folders_then_those_that_exist_now_are_tried_as_absolute_ones) {
  const std::string folder = testing::TempDir() + "/relative.search";
  mkdir(folder.c_str(), 0700);
  std::ofstream(folder + "/libcuda.so.1") << "x";
  char before[4096];
  ASSERT_NE(getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(chdir(testing::TempDir().c_str()), 0);
  Paths paths;
  EXPECT_FALSE(visit_relative_folders("/a:relative.search:missing", &collect, &paths));
  ASSERT_EQ(chdir("relative.search"), 0);
  EXPECT_TRUE(visit_relative_folders("/a::other", &take_first, &paths));
  ASSERT_EQ(chdir(before), 0);
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_EQ(paths[0], paths[1]);
  EXPECT_EQ(paths[0].rfind("/relative.search/libcuda.so.1"),
            paths[0].size() - strlen("/relative.search/libcuda.so.1"));
  EXPECT_EQ(paths[0][0], '/');
}

TEST(DriverSearch, given_a_folder_too_long_for_a_path_then_it_is_passed_over) {
  Paths paths;
  const std::string list = "/" + std::string(5000, 'x') + ":/b";
  EXPECT_FALSE(visit_path_list(list.c_str(), &collect, &paths));
  EXPECT_EQ(paths, Paths{"/b/libcuda.so.1"});
}

TEST(DriverSearch, SYM_18_given_a_driver_asked_for_by_path_then_it_is_tried_before_the_search) {
  const std::string file = testing::TempDir() + "/libcuda.so.1";
  std::ofstream(file) << "x";
  setenv("LD_LIBRARY_PATH", "/a", 1);
  note_asked_path("libcuda.so.1");               // no path
  note_asked_path("/nonexistent/libcuda.so.1");  // no file
  Paths paths;
  visit_driver_candidates(&take_first, &paths);
  EXPECT_EQ(paths, Paths{"/a/libcuda.so.1"});
  note_asked_path(file.c_str());
  note_asked_path("/proc/self/exe");  // the first one stays
  paths.clear();
  visit_driver_candidates(&take_first, &paths);
  char real[4096];
  ASSERT_NE(realpath(file.c_str(), real), nullptr);
  EXPECT_EQ(paths, Paths{real});
  unsetenv("LD_LIBRARY_PATH");
}

std::string expanded(const char* text) {
  char list[64];
  return expand_origin(text, "/app/lib", list, sizeof list) ? list : "too long";
}

TEST(RunPaths, SYM_18_given_origin_in_both_spellings_then_it_is_the_objects_folder) {
  EXPECT_EQ(expanded("$ORIGIN"), "/app/lib");
  EXPECT_EQ(expanded("/a:${ORIGIN}/../x:$ORIGIN/y"), "/a:/app/lib/../x:/app/lib/y");
  EXPECT_EQ(expanded(""), "");
}

TEST(RunPaths, given_words_of_another_meaning_then_only_their_folders_are_left_out) {
  EXPECT_EQ(expanded("$LIB/x:/b"), "/b");
  EXPECT_EQ(expanded("/a:/x/$PLATFORM:/b"), "/a:/b");
  EXPECT_EQ(expanded("/a:$"), "/a");
}

TEST(RunPaths, given_a_list_that_does_not_fit_then_there_is_none) {
  EXPECT_EQ(expanded("$ORIGIN/0123456789:$ORIGIN/0123456789:$ORIGIN/0123456789:$ORIGIN"),
            "too long");
}

TEST(RunPaths, given_the_loaded_objects_then_the_main_program_comes_first_and_the_list_ends) {
  char list[4096];
  EXPECT_TRUE(run_path_of(0, RunPath::kRpath, "libnothing.so.1", list, sizeof list));
  EXPECT_FALSE(run_path_of(1, RunPath::kRpath, "libnothing.so.1", list, sizeof list));
  // Nearly everything needs the C library.
  EXPECT_TRUE(run_path_of(1, RunPath::kRunpath, "libc.so.6", list, sizeof list));
  EXPECT_FALSE(run_path_of(10000, RunPath::kRunpath, "libc.so.6", list, sizeof list));
}

}  // namespace
}  // namespace gacer::interpose
