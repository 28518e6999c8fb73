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

// A state with this process as server and as its client.
class MpsServer : public ::testing::Test {
 protected:
  void SetUp() override {
    state_.answer("set_default_active_thread_percentage 60");
    EXPECT_EQ(state_.answer("server_started " + self_ + " 1000"), "");
    EXPECT_EQ(state_.answer("client_started " + self_ + " " + self_ + " 0 1"), "");
  }
  const std::string self_ = std::to_string(::getpid());
  MpsState state_;
};

TEST_F(MpsServer, KeepsTheDefaultsThatItStartedWith) {
  EXPECT_EQ(state_.answer("set_default_active_thread_percentage 20"), "20.0\n");
  EXPECT_EQ(state_.answer("get_active_thread_percentage " + self_), "60.0\n");
  EXPECT_EQ(state_.answer("set_active_thread_percentage " + self_ + " 35.5"), "35.5\n");
  const auto settings = parse_settings(state_.answer("client_settings"));
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->percentage, 35.5);
}

TEST_F(MpsServer, ListsClientsByServerAndDevice) {
  EXPECT_EQ(state_.answer("get_client_list " + self_), self_ + "\n");
  EXPECT_EQ(state_.answer("get_device_client_list"),
            "Device 0:\n" + self_ + "\nDevice 1:\n" + self_ + "\n");
  EXPECT_NE(state_.answer("ps").find(self_), std::string::npos);
  EXPECT_NE(state_.answer("ps -p " + self_).find("simmps_test"), std::string::npos);
  EXPECT_EQ(state_.answer("client_ended " + self_ + " " + self_), "");
  EXPECT_EQ(state_.answer("get_client_list " + self_), "");
}

TEST_F(MpsServer, TellsItsStatus) {
  EXPECT_EQ(state_.answer("get_server_status " + self_), "ACTIVE\n");
  state_.answer("server_status " + self_ + " FAULT");
  EXPECT_EQ(state_.answer("get_server_status " + self_), "FAULT\n");
  EXPECT_EQ(state_.answer("get_server_status 1"), "Server 1 not found\n");
}

TEST_F(MpsServer, HasMemoryLimitsOfItsOwn) {
  EXPECT_EQ(state_.answer("get_device_pinned_mem_limit " + self_ + " 0"), "N/A\n");
  EXPECT_EQ(state_.answer("set_device_pinned_mem_limit " + self_ + " 0 512MB"), "512M\n");
  EXPECT_EQ(state_.answer("set_default_device_pinned_mem_limit 1 2G"), "2048M\n");
  EXPECT_EQ(state_.answer("get_default_device_pinned_mem_limit 0"), "N/A\n");
  EXPECT_NE(state_.answer("set_default_device_pinned_mem_limit 0 lots").find("Invalid"),
            std::string::npos);
  EXPECT_NE(state_.answer("set_device_pinned_mem_limit " + self_ + " 99 1G").find("Invalid"),
            std::string::npos);
  const auto settings = parse_settings(state_.answer("client_settings"));
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->memory_limits.at(0), 512ULL << 20);
}

TEST_F(MpsServer, RefusesStrangersAndWrongNumbersOfArguments) {
  EXPECT_EQ(state_.answer("terminate_client " + self_ + " 1"), "Client 1 not found\n");
  EXPECT_EQ(state_.answer("terminate_client 1 1"), "Server 1 not found\n");
  for (const char* line : {"get_client_list", "terminate_client 1",
                           "set_active_thread_percentage 5", "get_server_list now", "ps a b c"})
    EXPECT_NE(state_.answer(line).find("Invalid number of arguments"), std::string::npos) << line;
  EXPECT_NE(state_.answer("set_default_client_priority 7").find("Invalid"), std::string::npos);
  EXPECT_EQ(state_.answer("set_default_client_priority 1"), "1\n");
}

TEST(MpsText, MemorySizesAndLimits) {
  EXPECT_EQ(parse_memory_size("1G"), 1ULL << 30);
  EXPECT_EQ(parse_memory_size("512MB"), 512ULL << 20);
  EXPECT_EQ(parse_memory_size("3k"), 3ULL << 10);
  EXPECT_EQ(parse_memory_size("77"), 77U);
  for (const char* bad : {"", "0", "G", "-1G", "1T", "1GG", "99999999G", "1 G"})
    EXPECT_FALSE(parse_memory_size(bad)) << bad;
  const auto limits = parse_memory_limits("0=1G,1=512MB");
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->size(), 2U);
  EXPECT_TRUE(parse_memory_limits("")->empty());
  for (const char* bad : {"0", "0=", "=1G", "0=1G,,1=1G", "x=1G", "100=1G"})
    EXPECT_FALSE(parse_memory_limits(bad)) << bad;
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
