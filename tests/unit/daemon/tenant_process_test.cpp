// SPDX-License-Identifier: Apache-2.0
// The daemon's view of a segment that the test scribbles on as a tenant would.
#include "runtime/daemon/tenant_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gacer::daemon {
namespace {

using regulator::GateDecision;
using regulator::GateMode;
using regulator::HoldReason;
using regulator::LaunchEvent;

class TenantProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    ProcessIdentity identity;
    identity.process_id = 5;
    auto made = TenantProcess::create(identity);
    ASSERT_TRUE(made.ok());
    process_ = std::move(made).value();
    auto opened = shm::MemorySegment::open(UniqueFd(dup(process_->segment_fd())),
                                           sizeof(abi::Segment), shm::Access::kReadWrite);
    ASSERT_TRUE(opened.ok());
    memory_ = std::move(opened).value();
  }
  abi::Segment& tenant() { return *static_cast<abi::Segment*>(memory_.data()); }
  void set_stream(uint32_t slot, uint64_t submitted, uint64_t completed) {
    tenant().streams[slot].in_use.store(1);
    tenant().streams[slot].submitted_cost_ns.store(submitted);
    tenant().streams[slot].completed_cost_ns.store(completed);
  }
  std::vector<LaunchEvent> drain(uint32_t limit = 1000) {
    std::vector<LaunchEvent> launches;
    more_ = process_->drain(1, limit, launches);
    return launches;
  }

  std::unique_ptr<TenantProcess> process_;
  shm::MemorySegment memory_;
  bool more_ = false;
};

shm::LaunchEntry valid_entry() {
  shm::LaunchEntry entry;
  entry.kind = static_cast<uint8_t>(abi::LaunchKind::kKernel);
  entry.kernel_id = 77;
  entry.blocks_or_bytes = 12;
  entry.cost_slot = 9;
  return entry;
}

TEST_F(TenantProcessTest, WritesEveryWordOfADecisionAndBumpsTheSequence) {
  GateDecision gate;
  gate.mode = GateMode::kClosed;
  gate.reason = HoldReason::kLatencyActive;
  gate.window_ns = 11;
  gate.max_wait_ns = 12;
  gate.mark_every = 13;
  gate.record = true;
  gate.stream_priority_rank = -1;
  process_->apply(gate, 14);
  const abi::GateWords& words = tenant().gate;
  EXPECT_EQ(words.gate_seq.load(), 1u);
  EXPECT_EQ(words.mode.load(), static_cast<uint32_t>(abi::GateMode::kClosed));
  EXPECT_EQ(words.reason.load(), static_cast<uint32_t>(abi::Reason::kLatencyActive));
  EXPECT_EQ(words.window_ns.load(), 11u);
  EXPECT_EQ(words.max_wait_ns.load(), 12u);
  EXPECT_EQ(words.mark_every.load(), 13u);
  EXPECT_EQ(words.flags.load(), abi::kFlagRecord);
  EXPECT_EQ(words.generation.load(), 14u);
  EXPECT_EQ(words.stream_priority.load(), abi::kPriorityLowest);
}

TEST_F(TenantProcessTest, AFreshSegmentKeepsTheProgramsStreamPriorities) {
  EXPECT_EQ(tenant().gate.stream_priority.load(), abi::kPriorityKeep);
}

TEST_F(TenantProcessTest, ReportsStreamsInUse) {
  set_stream(3, 100, 40);
  set_stream(63, 7, 7);
  tenant().streams[4].submitted_cost_ns.store(1000);  // not in use
  const auto& progress = process_->collect();
  ASSERT_EQ(progress.streams.size(), 2u);
  EXPECT_EQ(progress.streams[0].slot, 3u);
  EXPECT_EQ(progress.streams[0].completed_cost_ns, 40u);
  EXPECT_EQ(process_->in_flight_ns(), 60u);
}

TEST_F(TenantProcessTest, MoreCompletedThanSubmittedCountsAsIdle) {
  set_stream(0, 10, UINT64_MAX);
  const auto& progress = process_->collect();
  EXPECT_EQ(progress.streams[0].completed_cost_ns, 10u);
  EXPECT_EQ(process_->in_flight_ns(), 0u);
  EXPECT_EQ(process_->forged_values(), 1u);
}

TEST_F(TenantProcessTest, SumsOfForgedCostsDoNotWrap) {
  set_stream(0, UINT64_MAX, 0);
  set_stream(1, UINT64_MAX, 0);
  process_->collect();
  EXPECT_EQ(process_->in_flight_ns(), UINT64_MAX);
}

TEST_F(TenantProcessTest, CountersNeverGoBack) {
  tenant().progress.launches.store(10);
  tenant().progress.wait_ns_by_reason[2].store(5);
  EXPECT_EQ(process_->collect().launches, 10u);
  tenant().progress.launches.store(3);
  EXPECT_EQ(process_->collect().launches, 10u);
  EXPECT_EQ(process_->counters().wait_ns_by_reason[2], 5u);
  EXPECT_EQ(process_->forged_values(), 1u);
}

TEST_F(TenantProcessTest, DrainsLaunches) {
  ASSERT_TRUE(shm::push_launch(tenant(), valid_entry()));
  const auto launches = drain();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kernel_id, 77u);
  EXPECT_EQ(launches[0].blocks, 12u);
  EXPECT_EQ(launches[0].cost_slot, 9u);
  EXPECT_FALSE(more_);
}

TEST_F(TenantProcessTest, DrainsNoMoreThanItsLimit) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(shm::push_launch(tenant(), valid_entry()));
  EXPECT_EQ(drain(3).size(), 3u);
  EXPECT_TRUE(more_);
  EXPECT_EQ(drain(3).size(), 2u);
}

TEST_F(TenantProcessTest, DropsRecordsWithIndicesOutOfRange) {
  auto entry = valid_entry();
  entry.stream_slot = abi::kStreamSlots;
  shm::push_launch(tenant(), entry);
  entry = valid_entry();
  entry.cost_slot = abi::kCostSlots;
  shm::push_launch(tenant(), entry);
  entry = valid_entry();
  entry.kind = 0;
  shm::push_launch(tenant(), entry);
  entry = valid_entry();
  entry.reason = abi::kReasonCount;
  shm::push_launch(tenant(), entry);
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(process_->forged_values(), 4u);
}

TEST_F(TenantProcessTest, PublishesCostsInsideTheTableOnly) {
  process_->set_cost(7, 99);
  process_->set_cost(abi::kCostSlots, 99);
  process_->set_cost(UINT32_MAX, 99);
  EXPECT_EQ(tenant().costs.cost_ns[7].load(), 99u);
  EXPECT_EQ(tenant().ring_control.tail.load(), 0u);
}

TEST_F(TenantProcessTest, NudgesWaitersOnlyWhenWorkCompleted) {
  set_stream(0, 100, 0);
  tenant().progress.waiting_threads.store(1);
  process_->collect();
  process_->nudge_if_progressed();
  EXPECT_EQ(tenant().gate.gate_seq.load(), 0u);
  set_stream(0, 100, 50);
  process_->collect();
  process_->nudge_if_progressed();
  process_->nudge_if_progressed();
  EXPECT_EQ(tenant().gate.gate_seq.load(), 1u);
}

}  // namespace
}  // namespace gacer::daemon
