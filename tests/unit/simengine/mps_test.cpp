// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "runtime/simdevice/mps/mps_daemon.h"
#include "runtime/simdevice/mps/mps_socket.h"

namespace gacer::simdevice::test {
namespace {

TEST(MpsState, AnswersLikeTheRealTool) {
  MpsState state;
  EXPECT_EQ(state.answer("get_default_active_thread_percentage"), "100.0\n");
  EXPECT_EQ(state.answer("  set_default_active_thread_percentage   40 \r"), "40.0\n");
  EXPECT_EQ(state.answer("get_default_active_thread_percentage"), "40.0\n");
  EXPECT_EQ(state.answer("get_server_list"), "");
  state.answer("server_started " + std::to_string(::getpid()));
  state.answer("server_started " + std::to_string(::getpid()));
  EXPECT_EQ(state.answer("get_server_list"), std::to_string(::getpid()) + "\n");
  EXPECT_FALSE(state.quit_requested());
  state.answer("quit");
  EXPECT_TRUE(state.quit_requested());
}

TEST(MpsState, RefusesWhatMakesNoSense) {
  MpsState state;
  for (const char* value : {"", "0", "-5", "101", "nan", "40x"})
    EXPECT_NE(
        state.answer(std::string("set_default_active_thread_percentage ") + value).find("Invalid"),
        std::string::npos)
        << value;
  EXPECT_EQ(state.answer("get_default_active_thread_percentage"), "100.0\n");
  EXPECT_NE(state.answer("frobnicate").find("Unknown command"), std::string::npos);
  EXPECT_NE(state.answer("server_started x").find("Invalid"), std::string::npos);
}

class MpsDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mps-test-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(MpsDirectory, IsOffWithoutADaemonAndOnWithOne) {
  uint32_t percentage = 0;
  EXPECT_FALSE(mps_is_on(directory_, percentage));
  // Given a daemon.
  auto listener = mps_listen(directory_);
  ASSERT_TRUE(listener.ok());
  std::thread daemon([&] { mps_serve(std::move(*listener), directory_); });
  // Then clients find it, a second one gives way, and the percentage is passed on.
  EXPECT_TRUE(mps_is_on(directory_, percentage));
  EXPECT_EQ(percentage, 100U);
  EXPECT_FALSE(mps_listen(directory_).ok());
  EXPECT_TRUE(mps_command(directory_, "set_default_active_thread_percentage 33").ok());
  EXPECT_TRUE(mps_is_on(directory_, percentage));
  EXPECT_EQ(percentage, 33U);
  EXPECT_TRUE(mps_command(directory_, "quit").ok());
  daemon.join();
  EXPECT_FALSE(mps_is_on(directory_, percentage));
}

TEST_F(MpsDirectory, AStaleSocketIsReplaced) {
  { auto left_over = mps_listen(directory_); }
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/control"));
  EXPECT_TRUE(mps_listen(directory_).ok());
}

TEST_F(MpsDirectory, TheControlProgramStartsTheDaemonAndPassesCommands) {
  const std::string program = "CUDA_MPS_PIPE_DIRECTORY=" + directory_ + " " + MPS_CONTROL_PATH;
  EXPECT_NE(std::system(("echo get_server_list | " + program + " 2>/dev/null").c_str()), 0);
  ASSERT_EQ(std::system((program + " -d").c_str()), 0);
  uint32_t percentage = 0;
  EXPECT_TRUE(mps_is_on(directory_, percentage));
  EXPECT_EQ(std::system(
                ("test \"$(echo get_default_active_thread_percentage | " + program + ")\" = 100.0")
                    .c_str()),
            0);
  EXPECT_EQ(std::system(("echo quit | " + program).c_str()), 0);
}

}  // namespace
}  // namespace gacer::simdevice::test
