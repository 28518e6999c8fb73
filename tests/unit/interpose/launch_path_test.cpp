// SPDX-License-Identifier: Apache-2.0
#include "interpose/launch_path.h"

#include "interpose/driver.h"
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using abi::LaunchKind;
using abi::Reason;
using test::decide;
using test::fake;

class LaunchPathTest : public test::LaunchFixture {
 protected:
  // Now and then a launch takes the long way, to look after the daemon; two in a row do not.
  bool on_lone_path() {
    if (lone_launch()) return true;
    launch(one_);
    return lone_launch();
  }
};

TEST_F(LaunchPathTest, given_no_daemon_when_launching_then_the_launch_passes) {
  shim().session.publish(nullptr);
  EXPECT_EQ(launch(one_), CUDA_SUCCESS);
  EXPECT_EQ(fake().launches, 1u);
}

TEST_F(LaunchPathTest, given_nothing_is_asked_when_launching_then_only_the_counter_moves) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(launch(one_), CUDA_SUCCESS);
  EXPECT_EQ(fake().launches, 10u);
  EXPECT_EQ(progress().launches, 10u);
  EXPECT_EQ(attachment_->streams.used(), 0u);
  shm::LaunchEntry entry;
  EXPECT_FALSE(next_record(entry));
}

TEST_F(LaunchPathTest, given_the_lone_path_when_the_words_change_then_the_next_launch_sees_them) {
  launch(one_);
  EXPECT_TRUE(on_lone_path());
  decide(segment(), GateMode::kUngated, 0, true);
  EXPECT_FALSE(lone_launch());
  launch(one_);
  shm::LaunchEntry entry;
  EXPECT_TRUE(next_record(entry));
  decide(segment(), GateMode::kUngated);
  launch(one_);
  EXPECT_TRUE(on_lone_path());
}

TEST_F(LaunchPathTest, given_records_are_asked_then_each_launch_is_described) {
  decide(segment(), GateMode::kUngated, 0, true, 1);
  const CUfunction function = get_function("gemm");
  launch(one_, function, 300);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  EXPECT_EQ(entry.kind, static_cast<uint8_t>(LaunchKind::kKernel));
  EXPECT_EQ(entry.blocks_or_bytes, 300u);
  EXPECT_EQ(entry.block_threads, 100u);
  EXPECT_EQ(entry.regs_per_thread, 40u);
  EXPECT_EQ(entry.smem_bytes, 1024u + 64u);
  EXPECT_NE(entry.kernel_id, 0u);
  EXPECT_NE(entry.cost_slot, abi::kNoCostSlot);
  EXPECT_EQ(entry.cost_ns, kLeastNs);
  EXPECT_EQ(entry.stream_cost_ns, kLeastNs);
  EXPECT_EQ(entry.wait_ns, 0u);
  EXPECT_NE(entry.submit_ns, 0u);
}

TEST_F(LaunchPathTest, given_a_cost_from_the_daemon_then_it_is_charged_in_place_of_the_guess) {
  decide(segment(), GateMode::kUngated, 0, true, 1);
  const CUfunction function = get_function("gemm");
  launch(one_, function);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  segment().costs.cost_ns[entry.cost_slot] = 777'000;
  launch(one_, function);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, kLeastNs + 777'000);
  segment().costs.cost_ns[entry.cost_slot] = UINT32_MAX;
  launch(one_, function);
  EXPECT_LE(slot_of(one_).submitted_cost_ns, kLeastNs + 777'000 + 2'000'000'000);
}

TEST_F(LaunchPathTest, given_a_kernel_never_seen_then_it_is_charged_by_its_size) {
  decide(segment(), GateMode::kUngated, 0, true, 1);
  launch(one_, test::function_number(99), 2'000);  // one wave of the fake device
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  EXPECT_EQ(entry.kernel_id, 0u);
  EXPECT_EQ(entry.cost_slot, abi::kNoCostSlot);
  EXPECT_GE(entry.cost_ns, kLeastNs);
}

TEST_F(LaunchPathTest, given_a_launch_that_the_driver_refuses_then_its_error_and_no_charge) {
  decide(segment(), GateMode::kWindow, 1'000'000, true, 1);
  fake().launch_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(launch(one_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, 0u);
  EXPECT_EQ(attachment_->reserved_ns, 0u);
  shm::LaunchEntry entry;
  EXPECT_FALSE(next_record(entry));
}

TEST_F(LaunchPathTest,
       given_a_closed_gate_when_launching_then_it_waits_its_bound_and_the_record_says_so) {
  segment().gate.max_wait_ns = 1'000'000;
  decide(segment(), GateMode::kClosed, 0, true);
  EXPECT_EQ(launch(one_), CUDA_SUCCESS);
  EXPECT_EQ(progress().deadline_releases, 1u);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  EXPECT_GE(entry.wait_ns, 1'000'000u);
  EXPECT_EQ(entry.reason, static_cast<uint8_t>(Reason::kDeadline));
}

TEST_F(LaunchPathTest, given_a_window_when_work_is_in_flight_then_the_next_launch_waits_for_it) {
  fake().finish_at_once = false;
  segment().gate.max_wait_ns = 2'000'000;
  decide(segment(), GateMode::kWindow, 3'000, false, 1);
  launch(one_);
  EXPECT_EQ(progress().waits, 0u);
  launch(one_);
  EXPECT_EQ(progress().waits, 1u);
  fake().finish_all();
  launch(two_);
  EXPECT_EQ(progress().waits, 1u);
}

TEST_F(LaunchPathTest,
       given_a_closed_gate_then_cooperative_cluster_and_collective_kernels_are_never_held) {
  decide(segment(), GateMode::kClosed);
  const CUfunction f = test::function_number(1);
  EXPECT_EQ(gacer_hook_cuLaunchCooperativeKernel(f, 1, 1, 1, 32, 1, 1, 0, one_, nullptr),
            CUDA_SUCCESS);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = one_;
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(gacer_hook_cuLaunchKernelEx(&config, f, nullptr, nullptr), CUDA_SUCCESS);
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  EXPECT_EQ(gacer_hook_cuLaunchKernelEx(&config, f, nullptr, nullptr), CUDA_SUCCESS);
  launch(one_, get_function("ncclDevKernel_AllReduce"));
  EXPECT_EQ(progress().waits, 0u);
  EXPECT_EQ(fake().launches, 4u);
}

TEST_F(LaunchPathTest, given_a_config_of_null_then_the_drivers_own_error) {
  decide(segment(), GateMode::kWindow, 1, true, 1);
  EXPECT_EQ(gacer_hook_cuLaunchKernelEx(nullptr, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchPathTest, given_a_closed_gate_then_copies_go_and_are_recorded_without_cost) {
  decide(segment(), GateMode::kClosed, 0, true, 1);
  EXPECT_EQ(gacer_hook_cuMemcpyAsync(1, 2, 4096, one_), CUDA_SUCCESS);
  EXPECT_EQ(fake().copies, 1u);
  EXPECT_EQ(progress().waits, 0u);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  EXPECT_EQ(entry.kind, static_cast<uint8_t>(LaunchKind::kCopy));
  EXPECT_EQ(entry.blocks_or_bytes, 4096u);
  EXPECT_EQ(entry.cost_ns, 0u);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, 0u);
}

TEST_F(LaunchPathTest, given_a_silent_daemon_then_launches_are_not_held) {
  decide(segment(), GateMode::kClosed);
  attachment_->daemon_silent = true;
  launch(one_);
  EXPECT_EQ(progress().waits, 0u);
}

TEST_F(LaunchPathTest, given_a_daemon_that_is_leaving_then_the_shim_detaches_and_the_launch_goes) {
  decide(segment(), GateMode::kDetached);
  EXPECT_EQ(launch(one_), CUDA_SUCCESS);
  EXPECT_EQ(shim().session.current(), nullptr);
  EXPECT_EQ(launch(one_), CUDA_SUCCESS);
}

TEST_F(LaunchPathTest, given_more_busy_streams_than_slots_then_the_rest_is_regulated_all_the_same) {
  fake().finish_at_once = false;
  decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1);
  for (uintptr_t i = 1; i <= abi::kStreamSlots + 3; ++i) launch(test::stream_number(i));
  EXPECT_EQ(fake().launches, abi::kStreamSlots + 3);
  EXPECT_EQ(progress().unregulated, 0u);
  const abi::StreamSlot& shared = segment().streams[StreamTable::kSharedSlot];
  EXPECT_EQ(shared.submitted_cost_ns, 4 * kLeastNs);
  EXPECT_EQ(shared.completed_cost_ns, 0u);
  EXPECT_EQ(fake().stream_writes, abi::kStreamSlots - 1u);  // the shared slot's streams use events
  fake().finish_all();
  gacer_hook_cuStreamSynchronize(test::stream_number(abi::kStreamSlots));
  EXPECT_EQ(shared.completed_cost_ns, 4 * kLeastNs);
}

TEST_F(LaunchPathTest, given_streams_that_take_turns_then_idle_slots_move_on_and_none_is_shared) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1);
  for (uintptr_t i = 1; i <= 500; ++i) launch(test::stream_number(i));
  EXPECT_FALSE(attachment_->streams.sharing());
  EXPECT_EQ(progress().unregulated, 0u);
}

TEST_F(LaunchPathTest, given_a_full_ring_then_records_are_dropped_and_counted_and_launches_go_on) {
  decide(segment(), GateMode::kUngated, 0, true);
  for (uint32_t i = 0; i < abi::kRingSlots + 5; ++i) launch(one_);
  EXPECT_EQ(progress().dropped_records, 5u);
  EXPECT_EQ(fake().launches, abi::kRingSlots + 5);
}

// A driver that launches through the exported name from inside its own launch.
CUresult nested_launch(CUgraphExec, CUstream stream) {
  return gacer_hook_cuLaunchKernel(test::function_number(1), 1, 1, 1, 1, 1, 1, 0, stream, nullptr,
                                   nullptr);
}

TEST_F(LaunchPathTest, given_a_driver_that_calls_itself_then_the_inner_call_is_not_charged_again) {
  DriverTable table = driver();
  table.cuGraphLaunch = &nested_launch;
  install_driver(table, &test::fake_symbol, nullptr);
  decide(segment(), GateMode::kUngated, 0, true, 1);
  EXPECT_EQ(gacer_hook_cuGraphLaunch(nullptr, one_), CUDA_SUCCESS);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  EXPECT_EQ(entry.kind, static_cast<uint8_t>(LaunchKind::kGraph));
  EXPECT_FALSE(next_record(entry));
}

}  // namespace
}  // namespace gacer::interpose
