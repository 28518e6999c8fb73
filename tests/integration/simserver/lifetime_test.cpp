// SPDX-License-Identifier: Apache-2.0
// Several clients, their death, broken messages, and the server's own life.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <memory>
#include <random>

#include "tests/integration/simserver/raw_client.h"
#include "tests/integration/simserver/test_kernels.h"

namespace gacer::simdevice::test {
namespace {

using ::testing::HasSubstr;

TEST(ServerLife, EndsAfterItsLastClientAndRemovesTheSocket) {
  ServerProcess server;
  {
    RawClient client(server.socket_path());
    ASSERT_TRUE(client.start());
  }
  EXPECT_EQ(server.wait_exit(20'000), 0);
  EXPECT_FALSE(std::filesystem::exists(server.socket_path()));
}

TEST(ServerLife, ASecondServerForTheSameSocketGivesWay) {
  ServerProcess server;
  RawClient client(server.socket_path());
  ASSERT_TRUE(client.start());
  const std::string command =
      std::string(SIMGPU_SERVER_PATH) + " --foreground --socket " + server.socket_path();
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(client.alloc(512).error, 0);
}

TEST(ServerLife, BadOptionsAreExplained) {
  for (const char* options :
       {"", "--socket", "--socket /tmp/x --device XYZ", "--socket /tmp/x --time-scale 0",
        "--socket /tmp/x --exec some", "--nonsense 1"}) {
    const std::string command = std::string(SIMGPU_SERVER_PATH) + " " + options + " 2>/dev/null";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2) << options;
  }
}

TEST(ServerLife, AnotherDeviceOrVersionIsRefusedWithTheReason) {
  ServerProcess server({"--device", "V100"});
  RawClient fine(server.socket_path());
  EXPECT_STREQ(fine.hello("fine", "v100").text, "V100");
  RawClient other(server.socket_path());
  const ReplyMsg refused = other.hello("other", "H100");
  EXPECT_EQ(refused.error, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_THAT(refused.text, HasSubstr("V100"));
  EXPECT_TRUE(other.closed_by_server());

  RawClient newer(server.socket_path());
  HelloMsg hello{};
  hello.header = {kSimMagic, kSimVersion + 1, static_cast<uint16_t>(SimType::kHello), sizeof hello,
                  1};
  newer.send(&hello, sizeof hello);
  EXPECT_TRUE(newer.closed_by_server());
  EXPECT_EQ(fine.mem_info().error, 0);
}

TEST(ServerLife, GarbageDisconnectsOnlyItsSender) {
  ServerProcess server;
  RawClient good(server.socket_path());
  ASSERT_TRUE(good.start(false));  // under MPS a fault of one ends all
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    RawClient bad(server.socket_path());
    ASSERT_TRUE(bad.connected());
    if (round % 2 == 0) {
      ASSERT_TRUE(bad.start());
    }
    // Given random bytes behind a header that is right often enough to get past the first checks.
    std::vector<uint8_t> bytes(sizeof(SimHeader) + random() % 300);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const auto type = static_cast<uint16_t>(round % 3 == 0 ? random() : 1 + random() % 80);
    SimHeader header{kSimMagic, kSimVersion, type, static_cast<uint32_t>(bytes.size()), 0};
    if (type < 64) header.request_id = 1;
    if (round % 5 == 0) header.magic ^= 1;
    std::memcpy(bytes.data(), &header, sizeof header);
    bad.send(bytes.data(), bytes.size());
    const uint8_t shorter[3] = {1, 2, 3};
    bad.send(shorter, sizeof shorter);
    EXPECT_TRUE(bad.closed_by_server());
  }
  EXPECT_TRUE(server.running());
  EXPECT_EQ(good.alloc(512).error, 0);
}

// Messages of the right shape with wild contents.
TEST(ServerLife, WildValuesNeverEndTheServer) {
  ServerProcess server;
  RawClient good(server.socket_path());
  ASSERT_TRUE(good.start(false));  // under MPS a fault of one ends all
  const uint64_t kWild[] = {
      0, 1, 0xffff'ffff, UINT64_MAX, kDeviceBase, kDeviceBase - 1, 1ULL << 63, 0x1000};
  std::mt19937 random(5);
  const auto wild = [&] { return kWild[random() % std::size(kWild)]; };
  for (int round = 0; round < 60; ++round) {
    RawClient client(server.socket_path());
    ASSERT_TRUE(client.start());
    const uint64_t module = client.load(kTestPtx).value;
    client.stream(1, 0);
    for (int i = 0; i < 5; ++i) {
      client.copy(1, static_cast<CopyKind>(1 + random() % 4), wild(), wild(), wild() & 0xfff'ffff);
      client.memset32(1, wild(), 1, wild() & 0xf'ffff);
      client.write_value(1, wild(), wild());
      client.wait_event(1, static_cast<uint32_t>(random() % kSimEvents), wild());
      client.launch(1, {random() % 2 == 0 ? module : wild(),
                        static_cast<uint32_t>(random() % 7),
                        static_cast<uint32_t>(random() % 3),
                        static_cast<uint32_t>(random() % 2000),
                        {wild(), wild(), wild()}});
    }
    client.sync(1, 100);
  }
  EXPECT_TRUE(server.running());
  EXPECT_EQ(good.alloc(512).error, 0);
}

TEST(ServerLife, AKilledClientGivesEverythingBack) {
  // Given a child process that holds memory and has a long queue.
  ServerProcess server;
  RawClient watcher(server.socket_path());
  ASSERT_TRUE(watcher.start());
  const uint64_t free_before = watcher.mem_info().value;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    RawClient client(server.socket_path());
    bool ok = client.start() && client.alloc(4ULL << 30).error == 0;
    const uint64_t module = client.load(kTestPtx).value;
    for (int i = 0; i < 100; ++i) client.launch(0, {module, kSpin, 200, 1024, {20'000}});
    (void)!::write(ready[1], &ok, 1);
    ::pause();
  }
  bool ok = false;
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  ASSERT_TRUE(ok);
  EXPECT_LT(watcher.mem_info().value, free_before - (4ULL << 30));
  // When it is killed.
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  // Then its memory comes back and the other client's work runs.
  EXPECT_TRUE(eventually([&] { return watcher.mem_info().value == free_before; }));
  const uint64_t module = watcher.load(kTestPtx).value;
  watcher.launch(0, {module, kSpin, 1, 32, {100}});
  EXPECT_TRUE(watcher.sync(0));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(ServerLife, AFaultOfOneClientLeavesTheOthersAlone) {
  ServerProcess server;
  RawClient bad(server.socket_path());
  RawClient good(server.socket_path());
  ASSERT_TRUE(bad.start(false));
  ASSERT_TRUE(good.start(false));
  const uint64_t secret = good.alloc(512).value;
  const uint64_t bad_module = bad.load(kTestPtx).value;
  const uint64_t good_module = good.load(kTestPtx).value;
  // When one writes to memory of the other.
  bad.launch(0, {bad_module, kStoreAt, 1, 1, {secret}});
  good.launch(0, {good_module, kSpin, 1, 32, {1000}});
  uint32_t word = 9;
  good.copy(0, CopyKind::kDtoH, reinterpret_cast<uint64_t>(&word), secret, 4);
  ASSERT_TRUE(bad.sync(0));
  ASSERT_TRUE(good.sync(0));
  EXPECT_EQ(bad.page()->sticky_error.load(), static_cast<uint32_t>(CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_EQ(good.page()->sticky_error.load(), 0U);
  EXPECT_EQ(word, 0U);
}

TEST(ServerLife, UnderMpsAFaultEndsAllClientsOfTheDevice) {
  ServerProcess server;
  RawClient outside(server.socket_path());
  ASSERT_TRUE(outside.start(false));
  {
    RawClient bad(server.socket_path());
    RawClient good(server.socket_path());
    ASSERT_TRUE(bad.start() && good.start());
    bad.launch(0, {bad.load(kTestPtx).value, kTrap, 1, 1, {}});
    const auto ended = [&] {
      return good.page()->sticky_error.load() == static_cast<uint32_t>(CUDA_ERROR_LAUNCH_FAILED);
    };
    EXPECT_TRUE(eventually(ended));
    EXPECT_EQ(outside.page()->sticky_error.load(), 0U);
    // No new one before both have left.
    RawClient late(server.socket_path());
    EXPECT_EQ(late.hello().error, CUDA_ERROR_MPS_SERVER_NOT_READY);
  }
  EXPECT_TRUE(eventually([&] {
    RawClient next(server.socket_path());
    return next.start();
  }));
}

TEST(ServerLife, SixtyFourClientsAtOnceEachGetTheirOwnResults) {
  ServerProcess server;
  std::vector<std::unique_ptr<RawClient>> clients;
  std::vector<uint64_t> buffers;
  for (uint32_t i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.socket_path()));
    ASSERT_TRUE(clients.back()->start(i % 2 == 0)) << i;
    buffers.push_back(clients.back()->alloc(4096).value);
    ASSERT_NE(buffers.back(), 0U) << i;
  }
  for (int round = 0; round < 5; ++round)
    for (uint32_t i = 0; i < 64; ++i) clients[i]->memset32(0, buffers[i], i + 1000, 1024);
  for (uint32_t i = 0; i < 64; ++i) {
    std::vector<uint32_t> words(1024);
    clients[i]->copy(0, CopyKind::kDtoH, reinterpret_cast<uint64_t>(words.data()), buffers[i],
                     4096);
    ASSERT_TRUE(clients[i]->sync(0)) << i;
    for (const uint32_t word : words) ASSERT_EQ(word, i + 1000);
  }
}

// Model time between two events around `spin` on each of two clients at once; returns the sum and
// the span.
struct PairTimes {
  uint64_t sum_ns = 0;
  uint64_t span_ns = 0;
};

// Model time of the same work by itself.
uint64_t run_alone() {
  ServerProcess server({"--exec", "sample"});
  RawClient client(server.socket_path());
  EXPECT_TRUE(client.start(false));
  const uint64_t module = client.load(kTestPtx).value;
  client.record(0, 0, 1);
  client.launch(0, {module, kSpin, 40, 32, {2'000'000}});
  client.record(0, 1, 1);
  EXPECT_TRUE(client.sync(0));
  return client.page()->events[1].device_ns.load() - client.page()->events[0].device_ns.load();
}

PairTimes run_pair(bool mps) {
  ServerProcess server({"--exec", "sample"});
  RawClient a(server.socket_path());
  RawClient b(server.socket_path());
  EXPECT_TRUE(a.start(mps) && b.start(mps));
  const uint64_t module_a = a.load(kTestPtx).value;
  const uint64_t module_b = b.load(kTestPtx).value;
  for (RawClient* client : {&a, &b}) {
    client->record(0, 0, 1);
    client->launch(0, {client == &a ? module_a : module_b, kSpin, 40, 32, {2'000'000}});
    client->record(0, 1, 1);
  }
  EXPECT_TRUE(a.sync(0) && b.sync(0));
  const auto time = [](const RawClient& client, int event) {
    return client.page()->events[event].device_ns.load();
  };
  const uint64_t first = std::min(time(a, 0), time(b, 0));
  const uint64_t last = std::max(time(a, 1), time(b, 1));
  return {time(a, 1) - time(a, 0) + time(b, 1) - time(b, 0), last - first};
}

TEST(ServerSharing, ClientsOverlapUnderMpsAndTakeTurnsWithout) {
  // On different SMs. The two do not arrive at the same moment, hence some room.
  const uint64_t alone_ns = run_alone();
  const PairTimes mps = run_pair(true);
  const PairTimes sliced = run_pair(false);
  EXPECT_GT(alone_ns, 5'000'000U);
  EXPECT_GT(mps.span_ns, alone_ns * 19 / 20);
  EXPECT_LT(mps.span_ns, alone_ns * 3 / 2);
  EXPECT_GT(sliced.span_ns, alone_ns * 19 / 10);
}

TEST(ServerTimeline, HasClientsStreamsKernelsAndShares) {
  const std::string path = "/tmp/simserver-timeline-" + std::to_string(::getpid()) + ".json";
  ServerProcess server({"--timeline", path});
  {
    RawClient client(server.socket_path());
    ASSERT_EQ(client.hello("a \"quoted\" label").error, 0);
    ASSERT_EQ(client.context(SimType::kContextCreate, 0).error, 0);
    const uint64_t module = client.load(kTestPtx).value;
    client.stream(3, 0);
    client.launch(3, {module, kSpin, 40, 32, {100'000}});
    const uint64_t memory = client.alloc(4096).value;
    client.copy(3, CopyKind::kDtoD, memory, memory + 2048, 2048);
    ASSERT_TRUE(client.sync(3));
  }
  ASSERT_EQ(server.wait_exit(20'000), 0);
  const std::string json = read_file(path);
  EXPECT_THAT(json, HasSubstr(R"("name":"spin","pid":1,"tid":3,"ts":)"));
  EXPECT_THAT(json, HasSubstr(R"("name":"copy DtoD")"));
  EXPECT_THAT(json, HasSubstr(R"(a \"quoted\" label (pid)"));
  EXPECT_THAT(json, HasSubstr(R"("name":"SM share")"));
  const std::string check = "python3 -m json.tool " + path + " >/dev/null";
  EXPECT_EQ(std::system(check.c_str()), 0);
  std::filesystem::remove(path);
}

TEST(ServerModes, SampleAndNoneTakeModelTimeWithoutRunningEveryBlock) {
  for (const char* mode : {"sample", "none"}) {
    ServerProcess server({"--exec", mode});
    RawClient client(server.socket_path());
    ASSERT_TRUE(client.start());
    const uint64_t module = client.load(kTestPtx).value;
    client.record(0, 0, 1);
    // Full execution of these blocks would take minutes.
    for (int i = 0; i < 3; ++i) client.launch(0, {module, kSpin, 100'000, 128, {50'000}});
    client.record(0, 1, 1);
    ASSERT_TRUE(client.sync(0, 100'000)) << mode;
    const auto& events = client.page()->events;
    EXPECT_GT(events[1].device_ns.load(), events[0].device_ns.load()) << mode;
  }
}

TEST(ServerModes, ABlockThatNeverEndsIsATimeout) {
  ServerProcess server({"--block-budget", "100000"});
  RawClient client(server.socket_path());
  ASSERT_TRUE(client.start());
  const uint64_t module = client.load(kTestPtx).value;
  client.launch(0, {module, kSpin, 1, 32, {4'000'000'000}});
  ASSERT_TRUE(client.sync(0));
  EXPECT_EQ(client.page()->sticky_error.load(), static_cast<uint32_t>(CUDA_ERROR_LAUNCH_TIMEOUT));
}

}  // namespace
}  // namespace gacer::simdevice::test
