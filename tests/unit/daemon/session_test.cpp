// SPDX-License-Identifier: Apache-2.0
// One session over a socket pair: the protocol's states, and what a refused peer is told.
#include "runtime/daemon/session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/shm/tenant_channel.h"

namespace gacer::daemon {
namespace {

using abi::MessageType;
using Next = Session::Next;

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TenantTable::create(regulator::Regulator::create("priority"));
    ASSERT_TRUE(made.ok());
    table_ = std::move(made).value();
    open_session(geteuid());
  }
  void open_session(uid_t uid) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    peer_.reset(ends[0]);
    session_.emplace(UniqueFd(ends[1]), shm::PeerIdentity{getpid(), uid, 0}, *table_, 1);
  }
  template <typename Message>
  Next say(const Message& message) {
    EXPECT_TRUE(shm::send_packet(peer_.get(), &message, sizeof message).ok());
    return session_->on_readable(facts_, 1);
  }
  Next say_hello() {
    abi::HelloMessage hello = shm::make_hello();
    strcpy(hello.tenant, "t");
    hello.memory_limit_bytes = 100;
    return say(hello);
  }
  template <typename Message>
  Message heard(MessageType type) {
    Message message{};
    const auto packet = shm::receive_packet(peer_.get(), &message, sizeof message);
    EXPECT_TRUE(packet.ok()) << packet.error().message;
    EXPECT_EQ(message.header.type, static_cast<uint16_t>(type));
    return message;
  }
  std::string heard_refusal() { return heard<abi::RefusedMessage>(MessageType::kRefused).text; }
  abi::MemoryMessage memory(MessageType type, uint64_t bytes) {
    auto message = shm::make_message<abi::MemoryMessage>(type);
    message.bytes = bytes;
    return message;
  }

  std::unique_ptr<TenantTable> table_;
  DaemonFacts facts_;
  UniqueFd peer_;
  std::optional<Session> session_;
};

TEST_F(SessionTest, AHelloIsWelcomed) {
  EXPECT_TRUE(session_->is_new());
  EXPECT_EQ(say_hello(), Next::kKeep);
  EXPECT_FALSE(session_->is_new());
  const auto welcome = heard<abi::WelcomeMessage>(MessageType::kWelcome);
  EXPECT_NE(table_->find(welcome.process_id), nullptr);
  EXPECT_EQ(welcome.segment_bytes, sizeof(abi::Segment));
}

TEST_F(SessionTest, TheEndDetaches) {
  say_hello();
  const auto welcome = heard<abi::WelcomeMessage>(MessageType::kWelcome);
  peer_.reset();
  EXPECT_EQ(session_->on_readable(facts_, 2), Next::kClose);
  session_->end(2);
  EXPECT_EQ(table_->find(welcome.process_id), nullptr);
}

TEST_F(SessionTest, AnotherVersionIsToldBothVersions) {
  auto hello = shm::make_hello();
  hello.header.version = 12;
  EXPECT_EQ(say(hello), Next::kClose);
  const auto refused = heard<abi::RefusedMessage>(MessageType::kRefused);
  EXPECT_EQ(refused.daemon_version, abi::kAbiVersion);
  const std::string text = refused.text;
  EXPECT_NE(text.find("version 12"), std::string::npos) << text;
  EXPECT_NE(text.find("speaks " + std::to_string(abi::kAbiVersion)), std::string::npos) << text;
}

TEST_F(SessionTest, AnotherVersionsLongerHelloGetsTheSameAnswer) {
  struct {
    abi::HelloMessage hello = shm::make_hello();
    char more[512] = {};
  } longer;
  longer.hello.header.version = 12;
  longer.hello.header.bytes = sizeof longer;
  EXPECT_EQ(say(longer), Next::kClose);
  EXPECT_NE(heard_refusal().find("version 12"), std::string::npos);
}

TEST_F(SessionTest, AnotherUserIsRefused) {
  if (geteuid() == 0) {
    open_session(12345);
    EXPECT_EQ(say_hello(), Next::kClose);
    EXPECT_NE(heard_refusal().find("12345"), std::string::npos);
  } else {
    open_session(geteuid() + 1);
    EXPECT_EQ(say_hello(), Next::kClose);
    EXPECT_NE(heard_refusal().find("uid"), std::string::npos);
  }
}

TEST_F(SessionTest, NoiseIsRefused) {
  const char noise[] = "GET / HTTP/1.0\r\n\r\n";
  EXPECT_EQ(say(noise), Next::kClose);
  EXPECT_NE(heard_refusal().find("magic"), std::string::npos);
}

TEST_F(SessionTest, AnOversizedPacketIsRefused) {
  const std::array<char, 8192> big{};
  EXPECT_EQ(say(big), Next::kClose);
  EXPECT_NE(heard_refusal().find("oversized"), std::string::npos);
}

TEST_F(SessionTest, MemoryIsForAttachedProcessesOnly) {
  EXPECT_EQ(say(memory(MessageType::kMemReserve, 1)), Next::kClose);
}

TEST_F(SessionTest, MemoryRequestsAreAnsweredByTheLedger) {
  say_hello();
  heard<abi::WelcomeMessage>(MessageType::kWelcome);
  EXPECT_EQ(say(memory(MessageType::kMemReserve, 70)), Next::kKeep);
  auto reply = heard<abi::MemoryMessage>(MessageType::kMemReply);
  EXPECT_EQ(reply.granted, 1u);
  EXPECT_EQ(reply.tenant_used_bytes, 70u);
  EXPECT_EQ(reply.tenant_limit_bytes, 100u);
  say(memory(MessageType::kMemReserve, 31));
  EXPECT_EQ(heard<abi::MemoryMessage>(MessageType::kMemReply).granted, 0u);
  EXPECT_EQ(say(memory(MessageType::kMemRelease, 70)), Next::kKeep);
  say(memory(MessageType::kMemReserve, 100));
  EXPECT_EQ(heard<abi::MemoryMessage>(MessageType::kMemReply).granted, 1u);
}

TEST_F(SessionTest, AMemoryQueryNeedsNoHello) {
  AttachRequest tenant;
  tenant.config.name = "t";
  tenant.config.memory_limit_bytes = 100;
  tenant.memory_in_use_bytes = 30;
  tenant.device_uuid = {7};
  ASSERT_TRUE(table_->attach(tenant, geteuid(), 42, 1).ok());
  auto query = shm::make_message<abi::MemoryQueryMessage>(MessageType::kMemQuery);
  strcpy(query.tenant, "t");
  query.device_uuid = {7};
  EXPECT_EQ(say(query), Next::kKeep);
  auto reply = heard<abi::MemoryMessage>(MessageType::kMemReply);
  EXPECT_EQ(reply.granted, 1u);
  EXPECT_EQ(reply.tenant_used_bytes, 30u);
  EXPECT_EQ(reply.tenant_limit_bytes, 100u);
  query.device_uuid = {8};  // the limit holds there too
  say(query);
  reply = heard<abi::MemoryMessage>(MessageType::kMemReply);
  EXPECT_EQ(reply.tenant_used_bytes, 0u);
  EXPECT_EQ(reply.tenant_limit_bytes, 100u);
  strcpy(query.tenant, "stranger");
  say(query);
  EXPECT_EQ(heard<abi::MemoryMessage>(MessageType::kMemReply).granted, 0u);
}

TEST_F(SessionTest, AnUnknownKindOfMemoryEndsTheSession) {
  say_hello();
  auto message = memory(MessageType::kMemReserve, 1);
  message.kind = 77;
  EXPECT_EQ(say(message), Next::kClose);
}

TEST_F(SessionTest, ASecondHelloEndsTheSession) {
  say_hello();
  EXPECT_EQ(say_hello(), Next::kClose);
}

TEST_F(SessionTest, ATenantCannotShutTheDaemonDown) {
  say_hello();
  heard<abi::WelcomeMessage>(MessageType::kWelcome);
  struct {
    abi::MessageHeader header;
    char text[8];
  } admin{{abi::kMessageMagic, abi::kAbiVersion, static_cast<uint16_t>(MessageType::kAdmin), 0, 24},
          {'s', 'h', 'u', 't', 'd', 'o', 'w', 'n'}};
  EXPECT_EQ(say(admin), Next::kClose);
}

TEST_F(SessionTest, ARequestWithControlCharactersIsRefused) {
  struct {
    abi::MessageHeader header;
    char text[8];
  } admin{{abi::kMessageMagic, abi::kAbiVersion, static_cast<uint16_t>(MessageType::kAdmin), 0, 24},
          {'s', 't', 'a', 't', 'u', 's', '\n', '\0'}};
  EXPECT_EQ(say(admin), Next::kClose);
  EXPECT_NE(heard_refusal().find("printable"), std::string::npos);
}

TEST_F(SessionTest, AFloodIsServedInTurns) {
  say_hello();
  const auto release = memory(MessageType::kMemRelease, 1);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(shm::send_packet(peer_.get(), &release, sizeof release).ok());
  EXPECT_EQ(session_->on_readable(facts_, 1), Next::kKeep);
  char rest[sizeof(abi::MemoryMessage)];
  EXPECT_TRUE(shm::receive_packet(session_->socket_fd(), rest, sizeof rest).ok());  // some are left
}

}  // namespace
}  // namespace gacer::daemon
