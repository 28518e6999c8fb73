// SPDX-License-Identifier: Apache-2.0
// What the program waits for, asks about or lets others wait for: the work before it gets its mark,
// and nothing is ever held there.
#include <functional>
#include <thread>
#include <vector>

#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;

class EventHooksTest : public test::LaunchFixture {
 protected:
  // Marks come by themselves only after a thousand launches.
  void SetUp() override { test::decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1000); }
};

struct NamedCall {
  const char* name;
  std::function<CUresult(CUstream)> call;
};

const std::vector<NamedCall>& publishing_calls() {
  static const std::vector<NamedCall> calls = {
    {"synchronize", [](CUstream s) { return gacer_hook_cuStreamSynchronize(s); }},
    {"query", [](CUstream s) { return gacer_hook_cuStreamQuery_ptsz(s); }},
    {"record", [](CUstream s) { return gacer_hook_cuEventRecord(nullptr, s); }},
    {"record with flags",
     [](CUstream s) { return gacer_hook_cuEventRecordWithFlags_ptsz(nullptr, s, 0); }},
    {"write 32", [](CUstream s) { return gacer_hook_cuStreamWriteValue32(s, 0, 0, 0); }},
    {"write 32 v2", [](CUstream s) { return gacer_hook_cuStreamWriteValue32_v2(s, 0, 0, 0); }},
    {"write 64", [](CUstream s) { return gacer_hook_cuStreamWriteValue64_ptsz(s, 0, 0, 0); }},
    {"batch", [](CUstream s) { return gacer_hook_cuStreamBatchMemOp_v2(s, 0, nullptr, 0); }},
    {"signal",
     [](CUstream s) { return gacer_hook_cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, s); }},
    {"context", [](CUstream) { return gacer_hook_cuCtxSynchronize(); }},
    {"copy", [](CUstream) { return gacer_hook_cuMemcpyDtoH_v2(nullptr, 0, 0); }},
#if CUDA_VERSION >= 12050
    {"context event",
     [](CUstream) { return gacer_hook_cuCtxRecordEvent(fake().context, nullptr); }},
#endif
    {"green context event",
     [](CUstream) { return gacer_hook_cuGreenCtxRecordEvent(nullptr, nullptr); }},
  };
  return calls;
}

TEST_F(EventHooksTest, given_calls_others_may_wait_for_then_the_work_before_has_its_mark) {
  uint64_t launched = 0;
  for (const NamedCall& each : publishing_calls()) {
    launch(one_);
    launched += kLeastNs;
    EXPECT_EQ(each.call(one_), CUDA_SUCCESS) << each.name;
    EXPECT_EQ(slot_of(one_).completed_cost_ns, launched) << each.name;
  }
}

TEST_F(EventHooksTest, given_a_closed_gate_then_no_synchronisation_is_held) {
  launch(one_);
  test::decide(segment(), GateMode::kClosed, 0, false, 1000);
  for (const NamedCall& each : publishing_calls()) each.call(one_);
  gacer_hook_cuStreamWaitEvent(one_, nullptr, 0);
  gacer_hook_cuStreamWaitEvent_ptsz(two_, nullptr, 0);
  EXPECT_EQ(progress().waits, 0u);
}

TEST_F(EventHooksTest, given_the_errors_of_the_driver_then_they_are_returned_unchanged) {
  fake().event_record_result = CUDA_ERROR_INVALID_HANDLE;
  EXPECT_EQ(gacer_hook_cuEventRecord(nullptr, one_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EventHooksTest, given_another_contexts_event_then_only_its_streams_are_marked) {
  launch(one_);
  const CUcontext first = fake().context;
  fake().context = reinterpret_cast<CUcontext>(uintptr_t{0xd0d0});
  launch(two_);
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(slot_of(two_).completed_cost_ns, kLeastNs);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, 0u);
#if CUDA_VERSION >= 12050
  gacer_hook_cuCtxRecordEvent(first, nullptr);
  EXPECT_EQ(slot_of(one_).completed_cost_ns, kLeastNs);
#endif
}

// A mark for another thread's default stream would go to this thread's.
TEST_F(EventHooksTest, given_another_threads_default_stream_then_it_is_not_marked_from_here) {
  std::thread([&] { launch(CU_STREAM_PER_THREAD); }).join();
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(fake().stream_writes, 0u);
  launch(CU_STREAM_PER_THREAD);
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(fake().stream_writes, 1u);
}

// -- policies that do not exist yet must not matter here
// ----------------------------------------------

// Each kind of launch is held while a tenant before it works, however small; copies are not.
TEST_F(EventHooksTest, STR_13_given_a_closed_gate_then_tiny_kernels_and_graphs_wait_too) {
  test::decide(segment(), GateMode::kClosed, 0, true, 1000);
  segment().gate.max_wait_ns = 1'000;
  launch(one_, test::function_number(1), 1);
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = two_;
  gacer_hook_cuLaunchKernelEx(&config, test::function_number(1), nullptr, nullptr);
  gacer_hook_cuGraphLaunch(reinterpret_cast<CUgraphExec>(uintptr_t{0x70}), one_);
  EXPECT_EQ(progress().waits, 3u);
  gacer_hook_cuMemcpyAsync(0, 0, 64, one_);
  EXPECT_EQ(progress().waits, 3u);
}

// Whatever the daemon asks to slice: a kernel that cannot be sliced goes whole.
TEST_F(EventHooksTest,
       STR_16_given_a_slice_size_and_no_sliceable_kernel_then_it_is_launched_whole) {
  segment().gate.slice_blocks = 1;
  EXPECT_EQ(launch(one_, test::function_number(1), 100'000), CUDA_SUCCESS);
  EXPECT_EQ(fake().launches, 1u);
}

}  // namespace
}  // namespace gacer::interpose
