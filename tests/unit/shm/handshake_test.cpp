// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/handshake.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace gacer::shm {
namespace {

using abi::MessageType;

class Handshake : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    left_.reset(ends[0]);
    right_.reset(ends[1]);
  }
  UniqueFd left_, right_;
};

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

TEST_F(Handshake, CarriesBytesAndDescriptors) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(send_packet(left_.get(), "hello", 5, {null.get(), null.get()}).ok());
  char text[16];
  const auto packet = receive_packet(right_.get(), text, sizeof text);
  ASSERT_TRUE(packet.ok()) << packet.error().message;
  EXPECT_EQ(std::string(text, packet->bytes), "hello");
  ASSERT_EQ(packet->fd_count, 2u);
  EXPECT_NE(fcntl(packet->fds[1].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(Handshake, KeepsPacketsApart) {
  ASSERT_TRUE(send_packet(left_.get(), "ab", 2).ok());
  ASSERT_TRUE(send_packet(left_.get(), "c", 1).ok());
  char text[16];
  EXPECT_EQ(receive_packet(right_.get(), text, sizeof text)->bytes, 2u);
  EXPECT_EQ(receive_packet(right_.get(), text, sizeof text)->bytes, 1u);
}

TEST_F(Handshake, AnOversizedPacketIsAnErrorAndIsGone) {
  ASSERT_TRUE(send_packet(left_.get(), "0123456789", 10).ok());
  char text[4];
  const auto packet = receive_packet(right_.get(), text, sizeof text);
  ASSERT_FALSE(packet.ok());
  EXPECT_EQ(packet.error().code, EPROTO);
  EXPECT_EQ(receive_packet(right_.get(), text, sizeof text).error().code, EAGAIN);
}

TEST_F(Handshake, DescriptorsOfARefusedPacketAreClosed) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int before = open_descriptors();
  ASSERT_TRUE(send_packet(left_.get(), "0123456789", 10, {null.get(), null.get()}).ok());
  char text[4];
  EXPECT_FALSE(receive_packet(right_.get(), text, sizeof text).ok());
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Handshake, MoreDescriptorsThanAgreedAreRefusedAndClosed) {
  const int before = open_descriptors();
  int fds[6];
  for (int& fd : fds) fd = left_.get();
  char byte = 'x';
  iovec body{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof fds)] = {};
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof fds);
  memcpy(CMSG_DATA(control), fds, sizeof fds);
  ASSERT_EQ(sendmsg(left_.get(), &header, 0), 1);
  char text[4];
  EXPECT_EQ(receive_packet(right_.get(), text, sizeof text).error().code, EPROTO);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Handshake, TheOtherSidesEndIsToldFromNothingThere) {
  char text[4];
  EXPECT_EQ(receive_packet(right_.get(), text, sizeof text).error().code, EAGAIN);
  left_.reset();
  EXPECT_EQ(receive_packet(right_.get(), text, sizeof text).error().code, ECONNRESET);
  EXPECT_FALSE(send_packet(right_.get(), "x", 1).ok());  // and no SIGPIPE
}

void ignore_signal(int) {}

TEST_F(Handshake, AFastIntervalTimerDoesNotStretchATimeOut) {
  fcntl(left_.get(), F_SETFL, 0);
  const timeval limit{0, 100'000};
  setsockopt(left_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &ignore_signal;
  sigaction(SIGALRM, &action, &before);
  const itimerval often{{0, 3'000}, {0, 3'000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  char byte;
  const auto packet = receive_packet(left_.get(), &byte, 1);  // nobody sends
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  ASSERT_FALSE(packet.ok());
  EXPECT_EQ(packet.error().code, EAGAIN);
}

TEST_F(Handshake, KnowsItsPeer) {
  const auto peer = peer_identity(left_.get());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, getuid());
}

TEST(Pidfd, BecomesReadableWhenThePeerEnds) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd parent_end(ends[0]);
  const UniqueFd child_end(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const UniqueFd pidfd = open_peer_pidfd(-1, child);
  ASSERT_TRUE(pidfd.valid());
  pollfd entry{pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  kill(child, SIGKILL);
  EXPECT_EQ(poll(&entry, 1, 30'000), 1);
  waitpid(child, nullptr, 0);
}

TEST(ConnectSocket, SaysWhichPathHasNobody) {
  const auto missing = connect_socket("/nonexistent/gacer.sock", 100);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_NE(missing.error().message.find("/nonexistent/gacer.sock"), std::string::npos);
  EXPECT_EQ(connect_socket(std::string(200, 'x'), 100).error().code, ENAMETOOLONG);
  EXPECT_EQ(connect_socket("", 100).error().code, ENAMETOOLONG);
}

class MessageCheck : public testing::Test {
 protected:
  Status check() {
    return check_message(&message_, sizeof message_, MessageType::kMemReserve, sizeof message_);
  }
  abi::MemoryMessage message_ = make_message<abi::MemoryMessage>(MessageType::kMemReserve);
};

TEST_F(MessageCheck, AcceptsWhatMakeMessageMakes) {
  EXPECT_TRUE(check().ok());
}

TEST_F(MessageCheck, NamesBothVersionsWhateverTheSize) {
  message_.header.version = 9;
  message_.header.bytes = 12345;
  const Status checked = check();
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("version 9"), std::string::npos);
  EXPECT_NE(checked.error().message.find("speaks " + std::to_string(abi::kAbiVersion)),
            std::string::npos);
}

TEST_F(MessageCheck, RefusesMagicTypeAndSize) {
  auto good = message_;
  message_.header.magic = 0;
  EXPECT_FALSE(check().ok());
  message_ = good;
  message_.header.type = 99;
  EXPECT_FALSE(check().ok());
  message_ = good;
  message_.header.bytes -= 1;
  EXPECT_FALSE(check().ok());
  message_ = good;
  EXPECT_FALSE(check_message(&message_, 3, MessageType::kMemReserve, sizeof message_).ok());
  EXPECT_FALSE(check_message(&message_, sizeof message_, MessageType::kMemReserve, 8).ok());
}

}  // namespace
}  // namespace gacer::shm
