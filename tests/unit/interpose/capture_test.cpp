// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::decide;
using test::fake;

class CaptureTest : public test::LaunchFixture {
 protected:
  CUresult begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    return gacer_hook_cuStreamBeginCapture_v2(stream, mode);
  }
  CUresult end(CUstream stream) {
    CUgraph graph = nullptr;
    return gacer_hook_cuStreamEndCapture(stream, &graph);
  }
  bool is_capturing(CUstream stream) { return shim().captures.is_capturing({stream, false}); }
  bool may_submit(CUstream stream) { return shim().captures.may_submit({stream, false}); }
};

TEST_F(CaptureTest,
       given_a_capture_then_its_launches_are_counted_but_not_held_charged_or_recorded) {
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    decide(segment(), GateMode::kClosed, 0, true, 1);
    const uint64_t launches = fake().launches;
    begin(one_, mode);
    launch(one_);
    EXPECT_EQ(fake().launches, launches + 1);
    EXPECT_EQ(progress().waits, 0u);
    EXPECT_EQ(fake().stream_writes, 0u);
    EXPECT_FALSE(has_slot(one_));
    shm::LaunchEntry entry;
    EXPECT_FALSE(next_record(entry));
    end(one_);
  }
  EXPECT_EQ(progress().unregulated, 3u);
}

TEST_F(CaptureTest, given_a_graph_launched_into_a_capture_then_it_is_not_held) {
  decide(segment(), GateMode::kClosed, 0, true, 1);
  begin(one_);
  gacer_hook_cuGraphLaunch(reinterpret_cast<CUgraphExec>(uintptr_t{0x70}), one_);
  EXPECT_EQ(fake().launches, 1u);
  EXPECT_EQ(progress().waits, 0u);
}

TEST_F(CaptureTest, given_a_stream_that_joined_by_an_event_then_the_driver_is_asked) {
  decide(segment(), GateMode::kClosed, 0, false, 1);
  begin(one_);
  gacer_hook_cuStreamWaitEvent(two_, nullptr, 0);
  fake().capturing[two_] = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  launch(two_);
  EXPECT_GT(fake().capture_questions, 0u);
  EXPECT_EQ(progress().unregulated, 1u);
  EXPECT_EQ(progress().waits, 0u);
}

TEST_F(CaptureTest, given_an_invalidated_capture_then_its_stream_still_counts_as_capturing) {
  begin(one_);
  fake().capturing[one_] = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  EXPECT_TRUE(is_capturing(one_));
  fake().end_capture_result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  EXPECT_EQ(end(one_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_FALSE(shim().captures.any());
}

TEST_F(CaptureTest, given_no_capture_then_the_driver_is_never_asked) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1);
  for (int i = 0; i < 5; ++i) launch(one_);
  gacer_hook_cuStreamWaitEvent(one_, nullptr, 0);
  gacer_hook_cuStreamSynchronize(one_);
  EXPECT_EQ(fake().capture_questions, 0u);
}

// -- the ends of captures -------------------------------------------------------------------------

TEST_F(CaptureTest, given_an_end_by_a_wrong_thread_then_the_capture_goes_on) {
  begin(one_);
  fake().end_capture_ends = false;
  fake().end_capture_result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  end(one_);
  EXPECT_TRUE(is_capturing(one_));
}

TEST_F(CaptureTest, given_an_end_that_fails_but_ends_then_nothing_captures) {
  begin(one_);
  fake().end_capture_result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  end(one_);
  EXPECT_FALSE(shim().captures.any());
}

TEST_F(CaptureTest, given_a_begin_that_fails_then_nothing_captures) {
  fake().begin_capture_result = CUDA_ERROR_INVALID_VALUE;
  begin(one_);
  EXPECT_FALSE(shim().captures.any());
}

TEST_F(CaptureTest, given_a_second_begin_on_a_capturing_stream_then_the_first_capture_goes_on) {
  begin(one_);
  fake().begin_capture_result = CUDA_ERROR_ILLEGAL_STATE;
  EXPECT_EQ(begin(one_), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_TRUE(is_capturing(one_));
}

TEST_F(CaptureTest, given_a_stream_destroyed_while_capturing_then_regulation_comes_back) {
  begin(one_);
  EXPECT_TRUE(shim().captures.any());
  gacer_hook_cuStreamDestroy_v2(one_);
  EXPECT_FALSE(shim().captures.any());
  fake().capturing.clear();
  EXPECT_FALSE(is_capturing(one_));  // the handle's next owner
}

TEST_F(CaptureTest, given_a_context_destroyed_while_capturing_then_only_its_captures_are_gone) {
  begin(one_);
  const CUcontext first = fake().context;
  fake().context = reinterpret_cast<CUcontext>(uintptr_t{0xd0d0});
  begin(two_);
  gacer_hook_cuCtxDestroy_v2(first);
  EXPECT_TRUE(is_capturing(two_));
  gacer_hook_cuCtxDestroy_v2(fake().context);
  EXPECT_FALSE(shim().captures.any());
}

TEST_F(CaptureTest, given_a_primary_context_reset_while_capturing_then_nothing_captures) {
  begin(one_);
  gacer_hook_cuDevicePrimaryCtxReset_v2(0);
  EXPECT_FALSE(shim().captures.any());
}

// As when a thread ends in the middle of a capture of its default stream.
TEST_F(CaptureTest,
       given_an_entry_that_is_out_of_date_then_the_first_answer_of_the_driver_ends_it) {
  begin(one_);
  fake().capturing.clear();
  decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1);
  launch(one_);
  EXPECT_EQ(progress().unregulated, 0u);
  EXPECT_FALSE(shim().captures.any());
}

// -- other streams meanwhile
// -----------------------------------------------------------------------

TEST_F(CaptureTest, given_a_capture_elsewhere_then_other_streams_are_held_charged_and_marked) {
  begin(one_);
  decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1);
  launch(two_);
  EXPECT_EQ(slot_of(two_).submitted_cost_ns, kLeastNs);
  EXPECT_EQ(slot_of(two_).completed_cost_ns, kLeastNs);
  EXPECT_EQ(fake().stream_writes, 1u);
  EXPECT_EQ(fake().unsafe_calls, 0u);  // the first mark has registered the segment
  decide(segment(), GateMode::kClosed, 0, true, 1);
  segment().gate.max_wait_ns = 1'000;
  launch(two_);
  EXPECT_EQ(progress().waits, 1u);
  EXPECT_EQ(progress().unregulated, 0u);
}

TEST_F(CaptureTest, given_a_capture_elsewhere_then_our_calls_are_ordered_by_stream_or_relaxed) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1'000);
  launch(two_);
  begin(one_);
  EXPECT_TRUE(may_submit(two_));
  EXPECT_FALSE(may_submit(one_));
  gacer_hook_cuEventRecord(nullptr, two_);
  gacer_hook_cuStreamSynchronize(two_);
  gacer_hook_cuEventRecord(nullptr, one_);
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(fake().unsafe_calls, 0u);
  EXPECT_EQ(fake().stream_writes, 1u);
  EXPECT_EQ(slot_of(two_).completed_cost_ns, kLeastNs);
}

TEST_F(CaptureTest, given_events_report_completion_when_capturing_then_they_are_queried_relaxed) {
  fake().register_result = CUDA_ERROR_NOT_SUPPORTED;
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1'000);
  fake().finish_at_once = false;
  launch(one_);
  begin(two_);
  const uint64_t before = fake().event_queries;
  gacer_hook_cuEventRecord(nullptr, one_);
  gacer_hook_cuCtxSynchronize();
  EXPECT_GT(fake().event_queries, before);
  EXPECT_EQ(fake().unsafe_calls, 0u);
}

TEST_F(CaptureTest, given_work_before_a_capture_then_it_has_its_mark_when_the_capture_begins) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1'000);
  launch(one_);
  EXPECT_EQ(fake().stream_writes, 0u);
  begin(one_);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, kLeastNs);
}

TEST_F(CaptureTest, given_work_on_a_stream_that_then_joins_a_capture_then_it_has_its_mark) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1'000);
  launch(two_);
  begin(one_);
  gacer_hook_cuStreamWaitEvent(two_, nullptr, 0);
  EXPECT_EQ(slot_of(two_).completed_cost_ns, kLeastNs);
}

TEST_F(CaptureTest, given_a_blocking_capture_then_the_legacy_stream_gets_no_mark_until_it_ends) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1'000);
  launch(nullptr);
  fake().blocking_stream_captures = true;
  begin(one_);
  EXPECT_FALSE(may_submit(nullptr));
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(fake().stream_writes, 0u);
  fake().blocking_stream_captures = false;
  end(one_);
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(fake().stream_writes, 1u);
}

TEST_F(CaptureTest, given_a_capture_then_launches_on_the_legacy_stream_are_regulated) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1'000);
  begin(one_);
  launch(nullptr);
  EXPECT_EQ(progress().unregulated, 0u);
  shm::LaunchEntry entry;
  EXPECT_TRUE(next_record(entry));
}

TEST_F(CaptureTest, given_a_stream_destroyed_during_a_capture_elsewhere_then_its_slot_is_free) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1'000);
  launch(two_);
  begin(one_);
  gacer_hook_cuStreamDestroy_v2(two_);
  EXPECT_FALSE(has_slot(two_));
}

}  // namespace
}  // namespace gacer::interpose
