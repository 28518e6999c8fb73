// SPDX-License-Identifier: Apache-2.0
// The daemon's "store, bump, look for waiters" against the tenant's "announce, look again, sleep":
// no wake-up may be lost. Waits have no deadline short of the test's own, so a lost one hangs and
// fails.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/daemon/tenant_process.h"
#include "runtime/shm/futex.h"

namespace gacer::daemon {
namespace {

using regulator::GateDecision;
using regulator::GateMode;

constexpr int kRounds = 2000;
constexpr int kWaiters = 2;
constexpr uint64_t kHangNs = 60'000'000'000;

class GateWakeRace : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TenantProcess::create({});
    ASSERT_TRUE(made.ok());
    process_ = std::move(made).value();
    auto opened = shm::MemorySegment::open(UniqueFd(dup(process_->segment_fd())),
                                           sizeof(abi::Segment), shm::Access::kReadWrite);
    ASSERT_TRUE(opened.ok());
    memory_ = std::move(opened).value();
  }
  abi::Segment& tenant() { return *static_cast<abi::Segment*>(memory_.data()); }

  void decide(GateMode mode) {
    GateDecision gate;
    gate.mode = mode;
    gate.window_ns = static_cast<uint64_t>(++decisions_);
    process_->apply(gate, 1);
  }

  // As the shim waits: PROTOCOL.md, "Gate".
  void wait_until_open() {
    abi::GateWords& gate = tenant().gate;
    abi::ProgressWords& progress = tenant().progress;
    progress.waiting_threads.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t sequence = gate.gate_seq.load(std::memory_order_seq_cst);
      if (gate.mode.load(std::memory_order_relaxed) !=
          static_cast<uint32_t>(abi::GateMode::kClosed))
        break;
      const auto result = shm::futex_wait_for(gate.gate_seq, sequence, kHangNs);
      if (result == shm::WaitResult::kTimedOut) lost_.fetch_add(1);
    }
    progress.waiting_threads.fetch_sub(1, std::memory_order_seq_cst);
  }

  std::unique_ptr<TenantProcess> process_;
  shm::MemorySegment memory_;
  int decisions_ = 0;
  std::atomic<int> lost_{0};
};

TEST_F(GateWakeRace, AClosedGateThatOpensWakesEveryWaiter) {
  for (int round = 0; round < kRounds; ++round) {
    decide(GateMode::kClosed);
    std::thread waiters[kWaiters];
    for (std::thread& waiter : waiters) waiter = std::thread([this] { wait_until_open(); });
    decide(GateMode::kUngated);
    for (std::thread& waiter : waiters) waiter.join();
  }
  EXPECT_EQ(lost_.load(), 0);
  EXPECT_EQ(tenant().progress.waiting_threads.load(), 0u);
}

TEST_F(GateWakeRace, DetachWakesEveryWaiter) {
  decide(GateMode::kClosed);
  std::thread waiter([this] { wait_until_open(); });
  while (tenant().progress.waiting_threads.load() == 0) std::this_thread::yield();
  process_->detach();
  waiter.join();
  EXPECT_EQ(tenant().gate.mode.load(), static_cast<uint32_t>(abi::GateMode::kDetached));
}

}  // namespace
}  // namespace gacer::daemon
