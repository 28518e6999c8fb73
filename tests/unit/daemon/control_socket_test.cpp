// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/control_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "runtime/shm/handshake.h"

namespace gacer::daemon {
namespace {

class ControlSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gacer-socket-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/run/g.sock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A socket file as a killed daemon, or a living foreign program, leaves it. Returns the listener.
  UniqueFd foreign_socket(int type) {
    std::filesystem::create_directory(folder_ + "/run");
    UniqueFd listener(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener.get(), 4), 0);
    return listener;
  }
  mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  }
  void expect_refused(int code, const char* text) {
    const auto control = ControlSocket::open(path_);
    ASSERT_FALSE(control.ok());
    EXPECT_EQ(control.error().code, code);
    EXPECT_NE(control.error().message.find(text), std::string::npos) << control.error().message;
    EXPECT_NE(control.error().message.find(path_), std::string::npos) << control.error().message;
  }

  std::string folder_, path_;
};

TEST_F(ControlSocketTest, IsPrivateWhateverTheUmask) {
  const mode_t old = umask(0);
  const auto control = ControlSocket::open(path_);
  umask(old);
  ASSERT_TRUE(control.ok()) << control.error().message;
  EXPECT_EQ(mode_of(path_), 0600u);
  EXPECT_EQ(mode_of(folder_ + "/run"), 0700u);
  EXPECT_TRUE(shm::connect_socket(path_, 1000).ok());
}

TEST_F(ControlSocketTest, IsRemovedAtTheEndAndCanBeOpenedAgain) {
  { ASSERT_TRUE(ControlSocket::open(path_).ok()); }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(ControlSocket::open(path_).ok());
}

TEST_F(ControlSocketTest, ASecondDaemonIsRefusedAndTheFirstGoesOn) {
  const auto first = ControlSocket::open(path_);
  ASSERT_TRUE(first.ok());
  expect_refused(EADDRINUSE, ("another gacerd (pid " + std::to_string(getpid())).c_str());
  EXPECT_TRUE(shm::connect_socket(path_, 1000).ok());
}

TEST_F(ControlSocketTest, AStaleSocketIsReplaced) {
  foreign_socket(SOCK_SEQPACKET).reset();
  ASSERT_TRUE(std::filesystem::exists(path_));
  const auto control = ControlSocket::open(path_);
  ASSERT_TRUE(control.ok()) << control.error().message;
  EXPECT_TRUE(shm::connect_socket(path_, 1000).ok());
}

TEST_F(ControlSocketTest, ASocketOfALivingProgramIsLeftAlone) {
  for (const int type : {SOCK_SEQPACKET, SOCK_STREAM}) {
    const UniqueFd listener = foreign_socket(type);
    expect_refused(EADDRINUSE, "served by another program");
    EXPECT_TRUE(std::filesystem::exists(path_));
    std::filesystem::remove(path_);
  }
}

TEST_F(ControlSocketTest, AnythingThatIsNoSocketIsLeftAlone) {
  std::filesystem::create_directory(folder_ + "/run");
  std::ofstream(path_) << "precious";
  expect_refused(EEXIST, "not a socket");
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(ControlSocketTest, ALinkIsNotFollowed) {
  std::filesystem::create_directory(folder_ + "/run");
  std::filesystem::create_symlink("/dev/null", path_);
  expect_refused(EEXIST, "not a socket");
}

TEST_F(ControlSocketTest, AFolderThatCannotBeMadeIsNamed) {
  path_ = folder_ + "/no/such/g.sock";
  const auto control = ControlSocket::open(path_);
  ASSERT_FALSE(control.ok());
  EXPECT_NE(control.error().message.find(folder_ + "/no/such"), std::string::npos);
}

TEST_F(ControlSocketTest, ATooLongPathIsRefused) {
  path_ = folder_ + "/" + std::string(200, 'x');
  EXPECT_EQ(ControlSocket::open(path_).error().code, ENAMETOOLONG);
}

}  // namespace
}  // namespace gacer::daemon
