// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::decide;
using test::fake;

class CaptureTest : public test::LaunchFixture {
 protected:
  void begin(CUstream stream) {
    gacer_hook_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }
  void end(CUstream stream) {
    CUgraph graph = nullptr;
    gacer_hook_cuStreamEndCapture(stream, &graph);
  }
};

TEST_F(CaptureTest,
       given_a_capture_then_its_launches_are_counted_but_not_held_charged_or_recorded) {
  decide(segment(), GateMode::kClosed, 0, true, 1);
  begin(one_);
  launch(one_);
  EXPECT_EQ(fake().launches, 1u);
  EXPECT_EQ(progress().waits, 0u);
  EXPECT_EQ(progress().unregulated, 1u);
  EXPECT_EQ(fake().stream_writes, 0u);
  shm::LaunchEntry entry;
  EXPECT_FALSE(next_record(entry));
}

TEST_F(CaptureTest, given_a_stream_that_joined_by_an_event_then_the_driver_is_asked) {
  decide(segment(), GateMode::kClosed, 0, false, 1);
  begin(one_);
  fake().capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  launch(two_);
  EXPECT_EQ(fake().capture_questions, 1u);
  EXPECT_EQ(progress().unregulated, 1u);
}

TEST_F(CaptureTest, given_no_capture_then_the_driver_is_never_asked) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1);
  for (int i = 0; i < 5; ++i) launch(one_);
  EXPECT_EQ(fake().capture_questions, 0u);
}

TEST_F(CaptureTest,
       given_a_capture_elsewhere_then_other_streams_are_charged_but_get_no_mark_until_it_ends) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1);
  begin(one_);
  launch(two_);
  EXPECT_EQ(fake().stream_writes, 0u);
  EXPECT_EQ(fake().registrations, 0u);
  EXPECT_EQ(slot_of(two_).submitted_cost_ns, kLeastNs);
  end(one_);
  gacer_hook_cuStreamSynchronize(two_);
  EXPECT_EQ(slot_of(two_).completed_cost_ns, kLeastNs);
}

TEST_F(CaptureTest, given_a_capture_then_the_legacy_default_stream_is_not_asked_about) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1);
  begin(one_);
  launch(nullptr);
  EXPECT_EQ(fake().capture_questions, 0u);
}

TEST_F(CaptureTest, given_events_report_completion_when_capturing_then_none_is_queried) {
  fake().register_result = CUDA_ERROR_NOT_SUPPORTED;
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1);
  fake().finish_at_once = false;
  launch(one_);
  const uint64_t before = fake().event_queries;
  begin(two_);
  launch(one_);
  gacer_hook_cuStreamQuery(one_);
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(fake().event_queries, before);
  end(two_);
  gacer_hook_cuStreamQuery(one_);
  EXPECT_GT(fake().event_queries, before);
}

TEST_F(CaptureTest, given_a_stream_destroyed_while_capturing_then_regulation_comes_back) {
  begin(one_);
  EXPECT_TRUE(shim().captures.any());
  gacer_hook_cuStreamDestroy_v2(one_);
  EXPECT_FALSE(shim().captures.any());
}

}  // namespace
}  // namespace gacer::interpose
