// SPDX-License-Identifier: Apache-2.0
// The server and its observers: what they may ask, what they do not keep alive, what gets them
// disconnected.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/integration/simserver/raw_client.h"

namespace gacer::simdevice::test {
namespace {

ReplyMsg observe(RawClient& client) {
  ObserveMsg message{};
  return client.ask(message, SimType::kObserve);
}

TEST(Observer, LearnsOfTheDevicesAndDoesNotKeepTheServerAlive) {
  ServerProcess server({"--devices", "2"});
  auto program = std::make_unique<RawClient>(server.socket_path());
  ASSERT_TRUE(program->start());
  RawClient observer(server.socket_path());
  const ReplyMsg reply = observe(observer);
  EXPECT_EQ(0, reply.error);
  EXPECT_EQ(2U, reply.value);
  EXPECT_STREQ("A100", reply.text);
  program.reset();
  EXPECT_EQ(0, server.wait_exit(20'000).value_or(-1));
}

TEST(Observer, MayNotActAsAProgram) {
  ServerProcess server({"--linger-s", "60"});
  RawClient observer(server.socket_path());
  ASSERT_EQ(0, observe(observer).error);
  ContextMsg context{};
  (void)observer.ask(context, SimType::kContextCreate);
  EXPECT_TRUE(observer.closed_by_server());
  EXPECT_TRUE(server.running());
}

TEST(Observer, MustSayWhatItIsOnceAndFirst) {
  ServerProcess server({"--linger-s", "60"});
  RawClient twice(server.socket_path());
  ASSERT_EQ(0, observe(twice).error);
  (void)observe(twice);
  EXPECT_TRUE(twice.closed_by_server());
  RawClient silent(server.socket_path());
  ObserveMsg message{};
  (void)silent.ask(message, SimType::kFigures);
  EXPECT_TRUE(silent.closed_by_server());
  EXPECT_TRUE(server.running());
}

TEST(Observer, AsksForADeviceThatIsNotThere) {
  ServerProcess server({"--linger-s", "60"});
  RawClient observer(server.socket_path());
  ASSERT_EQ(0, observe(observer).error);
  ObserveMsg message{};
  message.device = 7;
  EXPECT_NE(0, observer.ask(message, SimType::kFigures).error);
}

// The client owns the ring's memory as much as the server.
TEST(Trace, ARingFullOfLiesDoesNotHarmTheServer) {
  ServerProcess server({"--linger-s", "60"});
  RawClient client(server.socket_path());
  ASSERT_TRUE(client.start());
  TraceMsg message{};
  message.enable = 1;
  UniqueFd fd;
  ASSERT_EQ(0, client.ask(message, SimType::kTrace, -1, &fd).error);
  void* memory = mmap(nullptr, sizeof(TracePage), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(MAP_FAILED, memory);
  auto* page = static_cast<TracePage*>(memory);
  const ReplyMsg memory_reply = client.alloc(4096);
  ASSERT_EQ(0, memory_reply.error);
  page->written = UINT64_MAX;
  page->taken = UINT64_MAX / 2;  // more than was ever written
  for (int i = 0; i < 8; ++i) client.memset32(0, memory_reply.value, 1, 16);
  EXPECT_TRUE(client.sync(0));
  EXPECT_GT(page->lost.load(), 0U);
  page->taken = 0;
  client.memset32(0, memory_reply.value, 1, 16);
  EXPECT_TRUE(client.sync(0));
  EXPECT_EQ(1U, page->written.load());
  EXPECT_EQ(9U, page->records[0].seq);
  EXPECT_LT(page->records[0].start_ns, page->records[0].end_ns);
  munmap(memory, sizeof(TracePage));
}

}  // namespace
}  // namespace gacer::simdevice::test
