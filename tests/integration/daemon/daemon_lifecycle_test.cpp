// SPDX-License-Identifier: Apache-2.0
// The daemon's own beginning and end.

#include "tests/integration/daemon/daemon_fixture.h"

namespace gacer::daemon {
namespace {

using abi::GateMode;
using abi::TenantClass;

TEST_F(DaemonTest, ASecondDaemonOnThePathIsRefusedAndTheFirstServesOn) {
  const auto second = create();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_EQ(status().at("policy"), "priority");
}

TEST_F(DaemonTest, AnOrderlyEndTellsTenantsAndRemovesTheSocket) {
  const auto tenant_end = attach(hello_of("t", TenantClass::kBatch));
  stop();
  EXPECT_EQ(mode_of(tenant_end), GateMode::kDetached);
  EXPECT_FALSE(std::filesystem::exists(path_));
  char byte;
  EXPECT_EQ(shm::receive_packet(tenant_end.socket.get(), &byte, 1).error().code, ECONNRESET);
}

TEST_F(DaemonTest, AToolCanEndIt) {
  const auto tenant_end = attach(hello_of("t", TenantClass::kBatch));
  EXPECT_EQ(admin("shutdown"), "ok");
  thread_.join();
  EXPECT_EQ(mode_of(tenant_end), GateMode::kDetached);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DaemonTest, AKilledDaemonsSocketIsReplacedAndTenantsBringTheirMemoryBack) {
  stop();
  ChildProcess first([&] {
    auto daemon = create();
    if (!daemon) return false;
    static std::thread loop([kept = std::move(daemon).value().release()] { kept->run(); });
    return true;
  });
  auto hello = hello_of("t", TenantClass::kBatch, 100);
  auto tenant_end = attach(hello);
  ASSERT_TRUE(shm::reserve_memory(tenant_end.socket.get(), 60)->granted);
  first.kill_now();
  ASSERT_TRUE(std::filesystem::exists(path_));  // nobody removed it
  EXPECT_FALSE(shm::reserve_memory(tenant_end.socket.get(), 1).ok());
  start();
  hello.memory_in_use_bytes = 60;
  tenant_end = attach(hello);
  EXPECT_EQ(tenant("t").at("memory_used_bytes"), 60);
  EXPECT_FALSE(shm::reserve_memory(tenant_end.socket.get(), 41)->granted);
}

TEST_F(DaemonTest, AnIdleDaemonDoesNotRun) {
  // Without tenants there is no round: the process's CPU clock stands (nearly) still.
  timespec before{}, after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  usleep(300'000);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const auto used_ns =
      (after.tv_sec - before.tv_sec) * 1'000'000'000L + after.tv_nsec - before.tv_nsec;
  EXPECT_LT(used_ns, 30'000'000);
}

}  // namespace
}  // namespace gacer::daemon
