// SPDX-License-Identifier: Apache-2.0
// The table with the real regulator core, on a virtual clock: what a tenant finds in its segment.
#include "runtime/daemon/tenant_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace gacer::daemon {
namespace {

using regulator::TenantClass;

struct Tenant {
  uint64_t process_id = 0;
  shm::MemorySegment memory;
  abi::Segment& segment() { return *static_cast<abi::Segment*>(memory.data()); }
  abi::GateMode mode() { return static_cast<abi::GateMode>(segment().gate.mode.load()); }
};

class TenantTableTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TenantTable::create(regulator::Regulator::create("priority"));
    ASSERT_TRUE(made.ok()) << made.error().message;
    table_ = std::move(made).value();
    auto opened = shm::MemorySegment::open(UniqueFd(dup(table_->board_fd())), sizeof(abi::Board),
                                           shm::Access::kReadOnly);
    ASSERT_TRUE(opened.ok());
    board_memory_ = std::move(opened).value();
  }
  const abi::Board& board() { return *static_cast<const abi::Board*>(board_memory_.data()); }

  Tenant attach(const char* name, TenantClass tenant_class) {
    AttachRequest request;
    request.config.name = name;
    request.config.tenant_class = tenant_class;
    request.config.memory_limit_bytes = 100;
    request.device = {108, 2048, 65536, 167936, 32};
    auto process = table_->attach(request, getuid(), getpid(), now_ns_);
    EXPECT_TRUE(process.ok());
    auto memory = shm::MemorySegment::open(UniqueFd(dup((*process)->segment_fd())),
                                           sizeof(abi::Segment), shm::Access::kReadWrite);
    EXPECT_TRUE(memory.ok());
    return Tenant{(*process)->identity().process_id, std::move(memory).value()};
  }
  // Rounds as the daemon's loop would run them.
  void run_for(uint64_t duration_ns) {
    const uint64_t end_ns = now_ns_ + duration_ns;
    while (table_->next_tick_ns() < end_ns) {
      now_ns_ = std::max(now_ns_, table_->next_tick_ns());
      table_->tick(now_ns_);
    }
    now_ns_ = end_ns;
  }

  std::unique_ptr<TenantTable> table_;
  shm::MemorySegment board_memory_;
  uint64_t now_ns_ = 1'000'000'000;
};

TEST_F(TenantTableTest, NothingIsDueWithoutTenants) {
  EXPECT_EQ(table_->next_tick_ns(), UINT64_MAX);
}

TEST_F(TenantTableTest, AnAttachedTenantFindsAReadySegmentWithALimit) {
  Tenant batch = attach("b", TenantClass::kBatch);
  EXPECT_EQ(batch.segment().header.version.load(), abi::kAbiVersion);
  EXPECT_EQ(batch.segment().header.process_id, batch.process_id);
  EXPECT_EQ(batch.segment().gate.memory_limit_bytes.load(), 100u);
  EXPECT_EQ(board().tenants.load(), 1u);
}

TEST_F(TenantTableTest, TheBoardsHeartbeatStaysFreshWhileIdle) {
  const Tenant batch = attach("b", TenantClass::kBatch);
  ASSERT_TRUE(table_->tune("idle_poll_ms", "1000").ok());
  for (int i = 0; i < 30; ++i) {
    run_for(100'000'000);
    EXPECT_LE(now_ns_ - board().heartbeat_ns.load(), 100'000'000u);
  }
}

TEST_F(TenantTableTest, BatchIsHeldWhileALatencyTenantWorksAndLetGoAfterwards) {
  Tenant latency = attach("l", TenantClass::kLatency);
  Tenant batch = attach("b", TenantClass::kBatch);
  latency.segment().streams[0].in_use.store(1);
  latency.segment().streams[0].submitted_cost_ns.store(1'000'000);
  run_for(50'000'000);
  EXPECT_EQ(latency.mode(), abi::GateMode::kUngated);
  EXPECT_EQ(batch.mode(), abi::GateMode::kClosed);
  EXPECT_EQ(batch.segment().gate.reason.load(), static_cast<uint32_t>(abi::Reason::kLatencyActive));
  EXPECT_EQ(board().latency_active.load(), 1u);
  latency.segment().streams[0].completed_cost_ns.store(1'000'000);
  run_for(100'000'000);
  EXPECT_NE(batch.mode(), abi::GateMode::kClosed);
  EXPECT_EQ(board().latency_active.load(), 0u);
}

TEST_F(TenantTableTest, TheShareOfADeadLatencyTenantComesBack) {
  Tenant latency = attach("l", TenantClass::kLatency);
  Tenant batch = attach("b", TenantClass::kBatch);
  latency.segment().streams[0].in_use.store(1);
  latency.segment().streams[0].submitted_cost_ns.store(1'000'000);
  run_for(50'000'000);
  ASSERT_EQ(batch.mode(), abi::GateMode::kClosed);
  table_->detach(latency.process_id, now_ns_);
  run_for(50'000'000);
  EXPECT_NE(batch.mode(), abi::GateMode::kClosed);
  EXPECT_EQ(board().tenants.load(), 1u);
}

TEST_F(TenantTableTest, ADetachedProcessThatLivesOnIsToldSo) {
  Tenant batch = attach("b", TenantClass::kBatch);
  const uint32_t before = batch.segment().gate.gate_seq.load();
  table_->detach(batch.process_id, now_ns_);
  EXPECT_EQ(batch.mode(), abi::GateMode::kDetached);
  EXPECT_GT(batch.segment().gate.gate_seq.load(), before);
}

TEST_F(TenantTableTest, PROC_05_InACrowdANewcomerCostsNoRoundAndItsDecisionComesSoon) {
  std::vector<Tenant> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(attach("crowd", TenantClass::kBatch));
  const uint64_t last_round_ns = board().heartbeat_ns.load();
  now_ns_ += 1'000'000;
  Tenant latecomer = attach("late", TenantClass::kBatch);
  EXPECT_EQ(board().heartbeat_ns.load(), last_round_ns);
  EXPECT_LE(table_->next_tick_ns(), now_ns_ + 5'000'000);
  run_for(10'000'000);
  EXPECT_EQ(latecomer.mode(), abi::GateMode::kUngated);
  EXPECT_NE(latecomer.segment().gate.max_wait_ns.load(), 0u);
  EXPECT_GT(board().heartbeat_ns.load(), last_round_ns);
}

TEST_F(TenantTableTest, InACrowdABatchNewcomerIsHeldFromTheStartWhileALatencyTenantWorks) {
  const Tenant company = attach("b", TenantClass::kBatch);  // a lone tenant's work is not counted
  std::vector<Tenant> crowd;
  for (int i = 0; i < 40; ++i) crowd.push_back(attach("crowd", TenantClass::kLatency));
  crowd[0].segment().streams[0].in_use.store(1);
  crowd[0].segment().streams[0].submitted_cost_ns.store(1'000'000);
  run_for(50'000'000);
  ASSERT_EQ(board().latency_active.load(), 1u);
  EXPECT_EQ(attach("late", TenantClass::kBatch).mode(), abi::GateMode::kClosed);
  EXPECT_EQ(attach("urgent", TenantClass::kLatency).mode(), abi::GateMode::kUngated);
}

TEST_F(TenantTableTest, AGenerationReachesEveryTenant) {
  Tenant batch = attach("b", TenantClass::kBatch);
  const uint64_t before = batch.segment().gate.generation.load();
  ASSERT_TRUE(table_->tune("window_us", "700").ok());
  EXPECT_GT(batch.segment().gate.generation.load(), before);
  const uint64_t after = batch.segment().gate.generation.load();
  EXPECT_FALSE(table_->tune("window_us", "x").ok());
  EXPECT_EQ(batch.segment().gate.generation.load(), after);
}

TEST_F(TenantTableTest, PolicyIsShownOnTheBoard) {
  ASSERT_TRUE(table_->set_policy("timeslice").ok());
  EXPECT_EQ(board().policy.load(), table_->core().policy_index());
  EXPECT_FALSE(table_->set_policy("nope").ok());
}

TEST_F(TenantTableTest, CountersOfEndedProcessesStayWithTheirTenant) {
  Tenant first = attach("b", TenantClass::kBatch);
  Tenant second = attach("b", TenantClass::kBatch);
  first.segment().progress.launches.store(5);
  second.segment().progress.launches.store(7);
  run_for(50'000'000);
  table_->detach(first.process_id, now_ns_);
  run_for(50'000'000);
  const auto tenants = table_->core().snapshot().tenants;
  ASSERT_EQ(tenants.size(), 1u);
  EXPECT_EQ(table_->counters_of(tenants[0].tenant_id).launches, 12u);
}

TEST_F(TenantTableTest, AForgingTenantDoesNotDisturbItsNeighbour) {
  Tenant forger = attach("f", TenantClass::kBatch);
  Tenant batch = attach("b", TenantClass::kBatch);
  auto* bytes = static_cast<unsigned char*>(forger.memory.data());
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    // Everything behind the header, that is all a tenant could reach, as noise.
    uint64_t state = seed * 0x9e3779b97f4a7c15ULL;
    for (size_t i = sizeof(abi::SegmentHeader); i + 8 <= sizeof(abi::Segment); i += 8) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      memcpy(bytes + i, &state, sizeof state);
    }
    run_for(5'000'000);
  }
  EXPECT_EQ(batch.segment().header.version.load(), abi::kAbiVersion);
  EXPECT_GT(table_->find(forger.process_id)->forged_values(), 0u);
  EXPECT_EQ(table_->find(batch.process_id)->forged_values(), 0u);
  table_->detach(forger.process_id, now_ns_);
  run_for(2'000'000'000);
  EXPECT_EQ(batch.mode(), abi::GateMode::kUngated);  // alone again
}

TEST_F(TenantTableTest, DetachAllTellsEveryTenant) {
  Tenant first = attach("a", TenantClass::kLatency);
  Tenant second = attach("b", TenantClass::kBatch);
  const uint32_t sequence = second.segment().gate.gate_seq.load();
  table_->detach_all(now_ns_);
  EXPECT_EQ(first.mode(), abi::GateMode::kDetached);
  EXPECT_EQ(second.mode(), abi::GateMode::kDetached);
  EXPECT_GT(second.segment().gate.gate_seq.load(), sequence);
}

}  // namespace
}  // namespace gacer::daemon
