// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace gacer::tools {
namespace {

constexpr const char* kShim = "/opt/gacer/lib/libgacer.so";

ProcessView view_of(const std::string& maps) {
  ProcessView view;
  read_maps(maps, kShim, view);
  return view;
}

std::string mapping(const std::string& file) {
  return "7f0000000000-7f0000001000 r-xp 00000000 08:01 1234                       " + file + "\n";
}

TEST(ReadMaps, SYM_17_ADriverWithoutTheShimIsSeen) {
  const ProcessView view = view_of(mapping("/usr/lib/libcuda.so.550.54") + mapping("[heap]"));
  EXPECT_TRUE(view.has_cuda);
  EXPECT_FALSE(view.has_shim);
}

TEST(ReadMaps, AShimAndADriverAreSeen) {
  const ProcessView view = view_of(mapping(kShim) + mapping("/usr/lib/libcuda.so.1"));
  EXPECT_TRUE(view.has_cuda);
  EXPECT_TRUE(view.has_shim);
}

TEST(ReadMaps, PROC_09_AShimThatWasReplacedIsStillOne) {
  EXPECT_TRUE(view_of(mapping(std::string(kShim) + " (deleted)")).has_shim);
  EXPECT_TRUE(view_of(mapping("/other/place/libgacer.so")).has_shim);
}

TEST(ReadMaps, OtherLibrariesAreNone) {
  const ProcessView view =
      view_of(mapping("/usr/lib/libcudart.so.12") + mapping("/x/libcuda_a.so"));
  EXPECT_FALSE(view.has_cuda || view.has_shim);
  EXPECT_FALSE(view_of("").has_cuda);
}

TEST(ProcessTree, HoldsChildrenAndTheirChildren) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild != 0) [[maybe_unused]]
      const ssize_t told = write(ends[1], &grandchild, sizeof grandchild);
    for (;;) pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  const auto tree = process_tree(getpid());
  EXPECT_EQ(tree.front(), getpid());
  for (const pid_t pid : {child, grandchild})
    EXPECT_NE(std::find(tree.begin(), tree.end(), pid), tree.end());
  EXPECT_FALSE(view_process(child, kShim).executable.empty());
  EXPECT_GT(view_process(child, kShim).start_ticks, 0u);
  kill(grandchild, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(view_process(child, kShim).executable.empty());
}

}  // namespace
}  // namespace gacer::tools
