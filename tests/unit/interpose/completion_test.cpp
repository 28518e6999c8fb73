// SPDX-License-Identifier: Apache-2.0
#include "interpose/completion.h"

#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::decide;
using test::fake;

class CompletionTest : public test::LaunchFixture {
 protected:
  void count_costs(uint32_t mark_every) {
    decide(segment(), GateMode::kWindow, 1'000'000'000, false, mark_every);
  }
};

TEST_F(CompletionTest, given_a_mark_for_every_launch_then_the_stream_writes_what_was_submitted) {
  count_costs(1);
  launch(one_);
  launch(one_);
  EXPECT_EQ(fake().stream_writes, 2u);
  EXPECT_EQ(fake().registrations, 1u);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, 2 * kLeastNs);
  EXPECT_EQ(slot_of(one_).marked_cost_ns, 2 * kLeastNs);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 2 * kLeastNs);
}

TEST_F(CompletionTest, given_a_mark_every_4_then_the_tail_is_reported_when_the_program_has_waited) {
  count_costs(4);
  for (int i = 0; i < 6; ++i) launch(one_);
  EXPECT_EQ(fake().stream_writes, 1u);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 4 * kLeastNs);
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 6 * kLeastNs);
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(fake().stream_writes, 1u);  // the driver's answer has said it, no mark was needed
}

TEST_F(CompletionTest, given_tails_then_each_kind_of_waiting_call_marks_them) {
  count_costs(1000);
  const auto unmarked_after = [&](auto call) {
    launch(one_);
    call();
    return slot_of(one_).submitted_cost_ns - slot_of(one_).marked_cost_ns;
  };
  CUevent event = nullptr;
  char byte = 0;
  EXPECT_EQ(unmarked_after([] {}), kLeastNs);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuStreamQuery(one_); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuEventRecord(event, one_); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuEventRecordWithFlags(event, one_, 0); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuCtxSynchronize(); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuMemcpyDtoH_v2(&byte, 1, 1); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuMemcpy(1, 2, 1); }), 0u);
}

TEST_F(CompletionTest, given_two_streams_then_waiting_for_one_marks_that_one) {
  count_costs(1000);
  launch(one_);
  launch(two_);
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, kLeastNs);
  EXPECT_EQ(slot_of(two_).completed_cost_ns, 0u);
}

TEST_F(CompletionTest, given_registration_is_refused_then_events_report_completion) {
  fake().register_result = CUDA_ERROR_NOT_SUPPORTED;
  fake().finish_at_once = false;
  count_costs(1);
  launch(one_);
  EXPECT_EQ(fake().stream_writes, 0u);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 0u);
  fake().finish_all();
  launch(one_);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, kLeastNs);  // found by the second launch's poll
  fake().finish_all();
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 2 * kLeastNs);
  EXPECT_EQ(fake().registrations, 1u);
}

TEST_F(CompletionTest, given_a_stream_write_is_refused_then_events_take_over_for_good) {
  fake().write_result = CUDA_ERROR_NOT_SUPPORTED;
  count_costs(1);
  launch(one_);
  launch(one_);
  EXPECT_EQ(attachment_->way.load(), CompletionWay::kEvents);
  EXPECT_GE(fake().events_created, 1u);
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 2 * kLeastNs);
}

TEST_F(CompletionTest, given_many_launches_by_events_then_few_events_are_made_and_none_is_lost) {
  fake().register_result = CUDA_ERROR_NOT_SUPPORTED;
  fake().finish_at_once = false;
  count_costs(1);
  for (int i = 0; i < 100; ++i) launch(one_);
  EXPECT_LE(fake().events_created, EventQueue::kCapacity);
  fake().finish_all();
  gacer_hook_cuStreamSynchronize(one_);  // marks the tail behind the full queue
  fake().finish_all();
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 100 * kLeastNs);
}

TEST_F(CompletionTest, given_neither_writes_nor_events_work_then_the_stream_never_looks_busy) {
  fake().register_result = CUDA_ERROR_NOT_SUPPORTED;
  fake().event_record_result = CUDA_ERROR_NOT_SUPPORTED;
  decide(segment(), GateMode::kWindow, 3'000, false, 1);
  for (int i = 0; i < 5; ++i) launch(one_);
  EXPECT_EQ(progress().waits, 0u);
}

TEST_F(CompletionTest,
       given_costs_are_switched_on_again_then_uncounted_launches_do_not_show_as_in_flight) {
  count_costs(1000);
  launch(one_);
  launch(one_);  // two in an unmarked tail
  decide(segment(), GateMode::kUngated);
  for (int i = 0; i < 5; ++i) launch(one_);
  count_costs(1000);
  launch(one_);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns - slot_of(one_).completed_cost_ns, kLeastNs);
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, slot_of(one_).completed_cost_ns);
}

TEST_F(CompletionTest, given_a_destroyed_stream_then_its_tail_is_marked_and_its_slot_is_free) {
  count_costs(1000);
  launch(one_);
  abi::StreamSlot& slot = slot_of(one_);
  gacer_hook_cuStreamDestroy_v2(one_);
  EXPECT_EQ(slot.completed_cost_ns, kLeastNs);
  EXPECT_EQ(slot.in_use, 0u);
  EXPECT_EQ(progress().live_streams, 0u);
}

TEST_F(CompletionTest,
       given_a_destroyed_context_then_its_streams_are_settled_and_a_new_one_registers_again) {
  fake().finish_at_once = false;
  count_costs(1);
  launch(one_);
  abi::StreamSlot& slot = slot_of(one_);
  gacer_hook_cuCtxDestroy_v2(fake().context);
  EXPECT_EQ(slot.in_use, 0u);
  EXPECT_EQ(slot.completed_cost_ns, slot.submitted_cost_ns);
  launch(two_);
  EXPECT_EQ(fake().registrations, 2u);
}

TEST_F(CompletionTest,
       given_a_released_primary_context_then_streams_go_only_if_it_was_the_last_reference) {
  count_costs(1);
  launch(one_);
  gacer_hook_cuDevicePrimaryCtxRelease_v2(0);
  EXPECT_TRUE(has_slot(one_));
  fake().primary_active = false;
  gacer_hook_cuDevicePrimaryCtxRelease_v2(0);
  EXPECT_FALSE(has_slot(one_));
}

}  // namespace
}  // namespace gacer::interpose
