// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake;
using test::FakeDriver;

class StreamHooksTest : public test::LaunchFixture {
 protected:
  int created_with(int32_t word) {
    segment().gate.stream_priority = word;
    CUstream stream = nullptr;
    EXPECT_EQ(gacer_hook_cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    return fake().stream_priorities.back();
  }
  int created_with_own(int32_t word, int own) {
    segment().gate.stream_priority = word;
    CUstream stream = nullptr;
    EXPECT_EQ(gacer_hook_cuStreamCreateWithPriority(&stream, 0, own), CUDA_SUCCESS);
    return fake().stream_priorities.back();
  }
};

TEST_F(StreamHooksTest, given_the_programs_own_priority_is_kept_then_its_call_is_unchanged) {
  EXPECT_EQ(created_with(abi::kPriorityKeep), FakeDriver::kNoPriority);
  EXPECT_EQ(created_with_own(abi::kPriorityKeep, -3), -3);
}

TEST_F(StreamHooksTest, given_a_priority_from_the_daemon_then_it_maps_to_the_devices_range) {
  EXPECT_EQ(created_with(1), -5);
  EXPECT_EQ(created_with(-1), 0);
  EXPECT_EQ(created_with_own(1, 0), -5);
  EXPECT_EQ(created_with_own(-1, -5), 0);
}

TEST_F(StreamHooksTest, given_no_daemon_then_stream_creation_passes) {
  shim().session.publish(nullptr);
  CUstream stream = nullptr;
  EXPECT_EQ(gacer_hook_cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(fake().stream_priorities.back(), FakeDriver::kNoPriority);
}

}  // namespace
}  // namespace gacer::interpose
