// SPDX-License-Identifier: Apache-2.0
// Tenants of a running daemon: share, memory, deaths, forgery.

#include <random>
#include <vector>

#include "runtime/shm/launch_ring.h"
#include "tests/integration/daemon/daemon_fixture.h"

namespace gacer::daemon {
namespace {

using abi::GateMode;
using abi::TenantClass;

TEST_F(DaemonTest, AnAttachedTenantSeesABeatingHeart) {
  const auto tenant = attach(hello_of("t", TenantClass::kBatch));
  const uint64_t first_ns = tenant.board().heartbeat_ns.load();
  EXPECT_GT(first_ns, 0u);
  EXPECT_TRUE(eventually([&] { return tenant.board().heartbeat_ns.load() > first_ns; }));
}

TEST_F(DaemonTest, BatchIsClosedWhileLatencyWorksAndOpensAfterwards) {
  const auto latency = attach(hello_of("l", TenantClass::kLatency));
  const auto batch = attach(hello_of("b", TenantClass::kBatch));
  submit(latency, 1'000'000);
  EXPECT_TRUE(eventually([&] {
    submit(latency, 1);  // counters that stand still would count as idle
    return mode_of(batch) == GateMode::kClosed;
  }));
  complete_all(latency);
  EXPECT_TRUE(eventually([&] { return mode_of(batch) != GateMode::kClosed; }));
  EXPECT_EQ(mode_of(latency), GateMode::kUngated);
}

TEST_F(DaemonTest, AWaitingThreadIsWokenWhenTheGateOpens) {
  const auto latency = attach(hello_of("l", TenantClass::kLatency));
  const auto batch = attach(hello_of("b", TenantClass::kBatch));
  submit(latency, 1'000'000);
  ASSERT_TRUE(eventually([&] { return mode_of(batch) == GateMode::kClosed; }));
  std::thread waiter([&] {
    auto& gate = batch.segment().gate;
    auto& waiting = batch.segment().progress.waiting_threads;
    waiting.fetch_add(1);
    for (;;) {
      const uint32_t sequence = gate.gate_seq.load();
      if (mode_of(batch) != GateMode::kClosed) break;
      ASSERT_NE(shm::futex_wait_for(gate.gate_seq, sequence, uint64_t{60} * 1'000'000'000),
                shm::WaitResult::kTimedOut);
    }
    waiting.fetch_sub(1);
  });
  ASSERT_TRUE(eventually([&] { return batch.segment().progress.waiting_threads.load() == 1; }));
  complete_all(latency);
  waiter.join();
}

TEST_F(DaemonTest, RecordsAreReadAndCountersShown) {
  const auto tenant_end = attach(hello_of("t", TenantClass::kBatch));
  shm::LaunchEntry entry;
  entry.kind = 1;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(shm::push_launch(tenant_end.segment(), entry));
  tenant_end.segment().progress.launches.store(100);
  tenant_end.segment().progress.waits.store(3);
  tenant_end.segment().progress.wait_ns_by_reason[2].store(5'000'000);
  EXPECT_TRUE(eventually([&] { return tenant_end.segment().ring_control.head.load() == 100; }));
  EXPECT_TRUE(eventually([&] { return tenant("t").at("launches") == 100; }));
  EXPECT_EQ(tenant("t").at("waits"), 3);
  EXPECT_EQ(tenant("t").at("wait_ms_by_reason").at("latency"), 5.0);
}

TEST_F(DaemonTest, ProcessesOfOneTenantShareItsQuotaAndADeathGivesItBack) {
  const auto mine = attach(hello_of("t", TenantClass::kBatch, 100));
  ChildProcess other([&] {
    auto attached = shm::attach(path_, hello_of("t", TenantClass::kBatch, 5), kTimeoutMs);
    if (!attached) return false;
    static shm::Attachment kept = std::move(attached).value();
    const auto grant = shm::reserve_memory(kept.socket.get(), 70);
    return grant.ok() && grant->granted && grant->tenant_limit_bytes == 100;
  });
  auto grant = shm::reserve_memory(mine.socket.get(), 31);
  ASSERT_TRUE(grant.ok());
  EXPECT_FALSE(grant->granted);
  EXPECT_EQ(grant->tenant_used_bytes, 70u);
  EXPECT_EQ(tenant("t").at("pids").size(), 2u);
  other.kill_now();
  EXPECT_TRUE(eventually([&] { return tenant("t").at("memory_used_bytes") == 0; }));
  grant = shm::reserve_memory(mine.socket.get(), 100);
  ASSERT_TRUE(grant.ok());
  EXPECT_TRUE(grant->granted);
  EXPECT_EQ(tenant("t").at("pids").size(), 1u);
}

TEST_F(DaemonTest, WhoIsNotAttachedMayAskForATenantsMemory) {
  EXPECT_EQ(shm::query_memory(path_, "t", {}).error().code, ENOENT);
  const auto mine = attach(hello_of("t", TenantClass::kBatch, 100));
  ASSERT_TRUE(shm::reserve_memory(mine.socket.get(), 70, {5})->granted);
  const auto answer = shm::query_memory(path_, "t", {5});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->tenant_used_bytes, 70u);
  EXPECT_EQ(answer->tenant_limit_bytes, 100u);
  EXPECT_EQ(shm::query_memory(path_, "t", {6})->tenant_used_bytes, 0u);
}

TEST_F(DaemonTest, TenantsDoNotShareAQuota) {
  const auto first = attach(hello_of("a", TenantClass::kBatch, 100));
  const auto second = attach(hello_of("b", TenantClass::kBatch, 100));
  EXPECT_TRUE(shm::reserve_memory(first.socket.get(), 100)->granted);
  EXPECT_TRUE(shm::reserve_memory(second.socket.get(), 100)->granted);
}

TEST_F(DaemonTest, AKilledLatencyTenantGivesItsShareBack) {
  const auto batch = attach(hello_of("b", TenantClass::kBatch));
  ChildProcess latency([&] {
    auto attached = shm::attach(path_, hello_of("l", TenantClass::kLatency), kTimeoutMs);
    if (!attached) return false;
    static shm::Attachment kept = std::move(attached).value();
    submit(kept, 1'000'000);
    return true;
  });
  ASSERT_TRUE(eventually([&] { return mode_of(batch) == GateMode::kClosed; }));
  latency.kill_now();
  EXPECT_TRUE(is_gone("l"));
  EXPECT_TRUE(eventually([&] { return mode_of(batch) != GateMode::kClosed; }));
}

TEST_F(DaemonTest, AChildThatHoldsTheSocketOpenDoesNotHideItsParentsDeath) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd hold_reader(ends[0]);
  UniqueFd hold_writer(ends[1]);
  ChildProcess parent([&] {
    auto attached = shm::attach(path_, hello_of("p", TenantClass::kBatch), kTimeoutMs);
    if (!attached) return false;
    static shm::Attachment kept = std::move(attached).value();
    if (fork() == 0) {  // a raw child: lives until the test closes its end of the pipe
      hold_writer.reset();
      char byte;
      [[maybe_unused]] const ssize_t got = read(hold_reader.get(), &byte, 1);
      _exit(0);
    }
    hold_writer.reset();
    return true;
  });
  ASSERT_FALSE(tenant("p").is_null());
  parent.kill_now();
  EXPECT_TRUE(is_gone("p"));
}

TEST_F(DaemonTest, ClosingTheSocketDetaches) {
  auto one = attach(hello_of("t", TenantClass::kBatch));
  one.socket.reset();
  EXPECT_TRUE(is_gone("t"));
}

TEST_F(DaemonTest, AProcessThatLosesItsSocketStaysChargedUntilItEnds) {
  ChildProcess other([&] {
    auto attached = shm::attach(path_, hello_of("t", TenantClass::kBatch, 100), kTimeoutMs);
    const auto grant = shm::reserve_memory(attached->socket.get(), 70);
    attached->socket.reset();  // as a host does that closes all it does not know
    return grant.ok() && grant->granted;
  });
  EXPECT_TRUE(is_gone("t"));
  const auto mine = attach(hello_of("t", TenantClass::kBatch, 100));  // a new tenant of that name
  EXPECT_EQ(tenant("t").at("memory_used_bytes"), 70);
  EXPECT_FALSE(shm::reserve_memory(mine.socket.get(), 31)->granted);
  other.kill_now();
  EXPECT_TRUE(eventually([&] { return tenant("t").at("memory_used_bytes") == 0; }));
  EXPECT_TRUE(shm::reserve_memory(mine.socket.get(), 100)->granted);
}

TEST_F(DaemonTest, AnotherVersionIsRefusedWithBothVersions) {
  auto hello = hello_of("t", TenantClass::kBatch);
  hello.header.version = 99;
  const auto attachment = shm::attach(path_, hello, kTimeoutMs);
  ASSERT_FALSE(attachment.ok());
  const std::string& text = attachment.error().message;
  EXPECT_NE(text.find("99"), std::string::npos) << text;
  EXPECT_NE(text.find("speaks " + std::to_string(abi::kAbiVersion)), std::string::npos) << text;
}

TEST_F(DaemonTest, PROC_07_AForgerNeitherStopsTheDaemonNorItsNeighbour) {
  const auto forger = attach(hello_of("f", TenantClass::kBatch));
  const auto latency = attach(hello_of("l", TenantClass::kLatency));
  const auto batch = attach(hello_of("b", TenantClass::kBatch));
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    auto* words = reinterpret_cast<uint64_t*>(&forger.segment().progress);
    const size_t count = (sizeof(abi::Segment) - offsetof(abi::Segment, progress)) / 8;
    for (uint64_t state = 1; !stop.load(std::memory_order_relaxed);) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      __atomic_store_n(words + (state >> 33) % count, state, __ATOMIC_RELAXED);
    }
  });
  submit(latency, 1'000'000);
  EXPECT_TRUE(eventually([&] {
    submit(latency, 1);
    return mode_of(batch) == GateMode::kClosed;
  }));
  complete_all(latency);
  EXPECT_TRUE(eventually([&] { return mode_of(batch) != GateMode::kClosed; }));
  EXPECT_TRUE(eventually(
      [&] { return tenant("f").at("processes")[0].at("forged_values").get<uint64_t>() > 0; }));
  stop.store(true);
  noise.join();
  EXPECT_EQ(tenant("b").at("processes")[0].at("forged_values"), 0);
}

TEST_F(DaemonTest, ManyTenantsMayComeAtOnce) {
  constexpr int kTenants = 100;
  std::vector<shm::Attachment> attachments(kTenants);
  std::vector<std::thread> threads;
  for (int i = 0; i < kTenants; ++i)
    threads.emplace_back([&, i] {
      attachments[i] = attach(hello_of(("t" + std::to_string(i)).c_str(), TenantClass::kBatch));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(status().at("tenants").size(), static_cast<size_t>(kTenants));
  attachments.clear();
  EXPECT_TRUE(eventually([&] { return status().at("tenants").empty(); }));
}

// Comes, takes memory, gives some of it back, goes; now and then without a word.
void join_and_leave(const std::string& path, uint32_t seed, const std::atomic<bool>& stop) {
  std::minstd_rand random(seed);
  while (!stop.load()) {
    const std::string name = "t" + std::to_string(random() % 5);
    auto tenant = shm::attach(path, hello_of(name.c_str(), TenantClass::kBatch), kTimeoutMs);
    ASSERT_TRUE(tenant.ok()) << tenant.error().message;
    for (uint32_t i = random() % 4; i > 0; --i) {
      ASSERT_TRUE(shm::reserve_memory(tenant->socket.get(), 1 + random() % 1000).ok());
      submit(*tenant, random() % 100'000);
    }
    if (random() % 2 == 0) complete_all(*tenant);
  }
}

TEST_F(DaemonTest, PROC_06_EverySnapshotIsConsistentWhileProcessesComeAndGo) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 16; ++i)
    threads.emplace_back([&, i] { join_and_leave(path_, i + 1, stop); });
  for (int look = 0; look < 100; ++look) {
    for (const auto& row : status().at("tenants")) {
      uint64_t memory = 0;
      for (const auto& process : row.at("processes"))
        memory += process.at("memory_used_bytes").get<uint64_t>();
      EXPECT_EQ(row.at("memory_used_bytes"), memory);
      EXPECT_EQ(row.at("pids").size(), row.at("processes").size());
      EXPECT_GT(row.at("processes").size(), 0u);
    }
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return status().at("tenants").empty(); }));
}

TEST_F(DaemonTest, WhoSaysNothingIsLetGo) {
  auto silent = shm::connect_socket(path_, kTimeoutMs);
  ASSERT_TRUE(silent.ok());
  char byte;
  EXPECT_EQ(shm::receive_packet(silent->get(), &byte, 1).error().code, ECONNRESET);
}

TEST_F(DaemonTest, KnobsReachTenantsWhileTheyRun) {
  const auto tenant_end = attach(hello_of("t", TenantClass::kBatch));
  const uint64_t before = tenant_end.segment().gate.generation.load();
  EXPECT_EQ(admin("tune max_wait_ms=77"), "ok");
  EXPECT_TRUE(eventually([&] {
    const auto& gate = tenant_end.segment().gate;
    return gate.generation.load() > before && gate.max_wait_ns.load() == 77'000'000;
  }));
}

}  // namespace
}  // namespace gacer::daemon
