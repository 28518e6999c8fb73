// SPDX-License-Identifier: Apache-2.0
// Who may reach a socket, and what is in the way. The users are numbers; nobody needs to be root.
#include "runtime/base/path_access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace gacer {
namespace {

constexpr uid_t kStranger = 54321;
constexpr gid_t kGroup = 54322;

class PathAccess : public testing::Test {
 protected:
  PathAccess() {
    char name[] = "/tmp/gacer-path-XXXXXX";
    folder_ = std::filesystem::canonical(mkdtemp(name));
    chmod(folder_.c_str(), 0755);
    std::filesystem::create_directories(folder_ / "a/b");
    std::ofstream(folder_ / "a/b/sock") << "";
    for (const char* part : {"a", "a/b"}) mode(part, 0755);
    mode("a/b/sock", 0666);
  }
  ~PathAccess() override { std::filesystem::remove_all(folder_); }

  void mode(const char* part, mode_t bits) { chmod((folder_ / part).c_str(), bits); }
  std::optional<BlockedPath> blocked(const std::filesystem::path& path, uid_t uid = kStranger,
                                     std::vector<gid_t> gids = {}) {
    return first_blocked_component(path, uid, gids);
  }
  std::filesystem::path socket() const { return folder_ / "a/b/sock"; }

  std::filesystem::path folder_;
};

TEST_F(PathAccess, given_an_open_path_then_nothing_blocks) {
  EXPECT_FALSE(blocked(socket()));
  EXPECT_FALSE(blocked(folder_ / "a/./b//../b/sock"));
}

TEST_F(PathAccess, CON_10_given_a_private_parent_of_an_open_folder_then_the_parent_is_named) {
  mode("a", 0700);
  const auto found = blocked(socket());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->component, folder_ / "a");
  EXPECT_EQ(found->code, EACCES);
  EXPECT_NE(found->reason.find("54321"), std::string::npos) << found->reason;
  EXPECT_NE(found->reason.find("0700"), std::string::npos) << found->reason;
}

TEST_F(PathAccess, given_a_socket_without_write_permission_then_it_is_named) {
  mode("a/b/sock", 0644);
  const auto found = blocked(socket());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->component, socket());
  EXPECT_NE(found->reason.find("write"), std::string::npos);
}

TEST_F(PathAccess, given_root_or_the_owner_then_a_private_path_is_open) {
  mode("a", 0700);
  mode("a/b/sock", 0600);
  EXPECT_FALSE(blocked(socket(), 0));
  EXPECT_FALSE(blocked(socket(), geteuid()));
}

TEST_F(PathAccess, given_a_group_then_its_bits_count_and_not_those_of_others) {
  if (chown((folder_ / "a").c_str(), static_cast<uid_t>(-1), kGroup) != 0)
    GTEST_SKIP() << "may not give a folder to another group";
  mode("a", 0710);
  EXPECT_TRUE(blocked(socket()));
  EXPECT_FALSE(blocked(socket(), kStranger, {1, kGroup}));
  mode("a", 0701);
  EXPECT_TRUE(blocked(socket(), kStranger, {1, kGroup}));
}

TEST_F(PathAccess, given_something_missing_or_a_file_as_folder_then_that_part_is_named) {
  const auto absent = blocked(folder_ / "a/none/sock");
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->component, folder_ / "a/none");
  EXPECT_EQ(absent->code, ENOENT);
  const auto file = blocked(socket() / "deeper");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->component, socket());
  EXPECT_EQ(file->code, ENOTDIR);
}

TEST_F(PathAccess, given_a_link_then_its_targets_folders_count) {
  std::filesystem::create_directories(folder_ / "private");
  std::filesystem::rename(socket(), folder_ / "private/sock");
  mode("private", 0700);
  std::filesystem::create_symlink("../../private/sock", socket());
  const auto found = blocked(socket());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->component, folder_ / "private");
}

TEST_F(PathAccess, given_a_loop_of_links_then_it_ends) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  const auto found = blocked(folder_ / "loop");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, ELOOP);
}

}  // namespace
}  // namespace gacer
