// SPDX-License-Identifier: Apache-2.0
// The tenant's end against a scripted daemon: every answer that is not a proper welcome is an
// error.
#include "runtime/shm/tenant_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "runtime/shm/handshake.h"
#include "runtime/shm/segment_format.h"

namespace gacer::shm {
namespace {

using abi::MessageType;

constexpr uint32_t kTimeoutMs = 20'000;

class TenantChannel : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gacer-channel-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/s";
    listener_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(listener_.get(), 1), 0);
    segment_ = std::move(MemorySegment::create("t", sizeof(abi::Segment))).value();
    board_ = std::move(MemorySegment::create_published("t", sizeof(abi::Board))).value();
    format_segment(*static_cast<abi::Segment*>(segment_.data()), 1, 2);
    format_board(*static_cast<abi::Board*>(board_.data()));
    welcome_.tenant_id = 1;
    welcome_.process_id = 2;
    welcome_.segment_bytes = sizeof(abi::Segment);
    welcome_.board_bytes = sizeof(abi::Board);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Attaches while `answer` plays the daemon on the accepted socket.
  Result<Attachment> attach_to(const std::function<void(int)>& answer) {
    std::thread daemon([&] {
      const UniqueFd peer(accept(listener_.get(), nullptr, nullptr));
      abi::HelloMessage hello;
      EXPECT_TRUE(receive_packet(peer.get(), &hello, sizeof hello).ok());
      answer(peer.get());
    });
    auto result = attach(path_, make_hello(), kTimeoutMs);
    daemon.join();
    return result;
  }
  void send_welcome(int peer, std::initializer_list<int> fds) {
    EXPECT_TRUE(send_packet(peer, &welcome_, sizeof welcome_, fds).ok());
  }

  std::string folder_, path_;
  UniqueFd listener_;
  MemorySegment segment_, board_;
  abi::WelcomeMessage welcome_ = make_message<abi::WelcomeMessage>(MessageType::kWelcome);
};

TEST_F(TenantChannel, AProperWelcomeAttaches) {
  const auto attachment = attach_to([&](int peer) {
    send_welcome(peer, {segment_.fd(), board_.fd()});
  });
  ASSERT_TRUE(attachment.ok()) << attachment.error().message;
  EXPECT_EQ(attachment->process_id, 2u);
  EXPECT_EQ(attachment->segment().header.process_id, 2u);
  EXPECT_EQ(attachment->board().magic, abi::kBoardMagic);
}

TEST_F(TenantChannel, ARefusalArrivesWithItsTextAndCode) {
  const auto attachment = attach_to([](int peer) {
    auto refused = make_message<abi::RefusedMessage>(MessageType::kRefused);
    refused.header.version = 42;  // a daemon of another version: its text must arrive all the same
    refused.code = EACCES;
    strcpy(refused.text, "not you");
    EXPECT_TRUE(send_packet(peer, &refused, sizeof refused).ok());
  });
  ASSERT_FALSE(attachment.ok());
  EXPECT_EQ(attachment.error().code, EACCES);
  EXPECT_EQ(attachment.error().message, "not you");
}

TEST_F(TenantChannel, AWelcomeOfAnotherVersionIsRefused) {
  welcome_.header.version = 42;
  const auto attachment = attach_to([&](int peer) {
    send_welcome(peer, {segment_.fd(), board_.fd()});
  });
  ASSERT_FALSE(attachment.ok());
  EXPECT_NE(attachment.error().message.find("42"), std::string::npos);
}

TEST_F(TenantChannel, AWelcomeWithoutDescriptorsIsRefused) {
  EXPECT_FALSE(attach_to([&](int peer) { send_welcome(peer, {}); }).ok());
  EXPECT_FALSE(attach_to([&](int peer) { send_welcome(peer, {segment_.fd()}); }).ok());
}

TEST_F(TenantChannel, ForeignDescriptorsAreRefused) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(attach_to([&](int peer) { send_welcome(peer, {null.get(), board_.fd()}); }).ok());
  EXPECT_FALSE(attach_to([&](int peer) { send_welcome(peer, {board_.fd(), segment_.fd()}); }).ok());
}

TEST_F(TenantChannel, ASegmentOfAnotherVersionIsRefused) {
  static_cast<abi::Segment*>(segment_.data())->header.version.store(42);
  const auto attachment = attach_to([&](int peer) {
    send_welcome(peer, {segment_.fd(), board_.fd()});
  });
  ASSERT_FALSE(attachment.ok());
  EXPECT_NE(attachment.error().message.find("42"), std::string::npos);
}

TEST_F(TenantChannel, ADaemonThatHangsUpIsAnError) {
  EXPECT_EQ(attach_to([](int) {}).error().code, ECONNRESET);
}

TEST(Hello, SaysWhoThisProcessIs) {
  const abi::HelloMessage hello = make_hello();
  EXPECT_GT(hello.start_time_ticks, 0u);
  EXPECT_EQ(std::string(hello.executable),
            std::filesystem::read_symlink("/proc/self/exe").string());
}

}  // namespace
}  // namespace gacer::shm
