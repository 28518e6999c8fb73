// SPDX-License-Identifier: Apache-2.0
// Threads capture, join captures, launch, synchronise, update and launch graphs and destroy streams
// at once; for the thread sanitizer, and for what must hold at the end: no mark has gone into a
// capture, nothing captures any more, and all that was charged has been reported.
#include <bit>
#include <thread>
#include <vector>

#include "tests/unit/interpose/graph_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;

constexpr int kRounds = 2'000;
constexpr CUstreamCaptureMode kModes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                          CU_STREAM_CAPTURE_MODE_RELAXED};

class CaptureConcurrencyTest : public test::GraphFixture {
 protected:
  void SetUp() override {
    test::decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1);
    segment().gate.max_wait_ns = 100'000;
    fake().graphs[graph(1)] = {kernel(1, f_, 100), kernel(2, f_, 100)};
    exec_ = instantiate(graph(1));
  }
  void capture_in_a_loop(uintptr_t number) {
    const CUstream mine = test::stream_number(10 + number);
    CUgraph captured = nullptr;
    for (int i = 0; i < kRounds; ++i) {
      launch(mine);
      gacer_hook_cuStreamBeginCapture_v2(mine, kModes[i % 3]);
      for (int j = 0; j < 5; ++j) launch(mine);
      gacer_hook_cuStreamEndCapture(mine, &captured);
      if (i % 50 == 0) gacer_hook_cuStreamDestroy_v2(mine);
    }
  }
  void launch_in_a_loop(uintptr_t number) {
    const CUstream mine = test::stream_number(20 + number);
    for (int i = 0; i < kRounds * 4; ++i) {
      launch(mine);
      if (i % 7 == 0) gacer_hook_cuStreamWaitEvent(mine, nullptr, 0);
      if (i % 16 == 0) gacer_hook_cuCtxSynchronize();
      if (i % 32 == 0) gacer_hook_cuEventRecord(nullptr, mine);
    }
  }
  void change_graphs_in_a_loop(uintptr_t number) {
    const CUstream mine = test::stream_number(30 + number);
    for (int i = 0; i < kRounds; ++i) {
      const CUDA_KERNEL_NODE_PARAMS params = kernel_params(f_, 100 + i % 5);
      gacer_hook_cuGraphExecKernelNodeSetParams_v2(exec_, node(1 + number % 2), &params);
      gacer_hook_cuGraphLaunch(exec_, mine);
      if (i % 10 == 0) gacer_hook_cuGraphExecUpdate_v2(exec_, graph(1), nullptr);
      gacer_hook_cuGraphNodeSetEnabled(exec_, node(1), i % 2);
    }
  }

  CUgraphExec exec_ = nullptr;
};

TEST_F(CaptureConcurrencyTest,
       given_captures_and_work_in_many_threads_then_neither_sees_the_other) {
  std::vector<std::thread> threads;
  for (uintptr_t i = 0; i < 2; ++i) {
    threads.emplace_back([this, i] { capture_in_a_loop(i); });
    threads.emplace_back([this, i] { launch_in_a_loop(i); });
    threads.emplace_back([this, i] { change_graphs_in_a_loop(i); });
  }
  for (std::thread& thread : threads) thread.join();
  gacer_hook_cuCtxSynchronize();
  EXPECT_EQ(fake().writes_into_captures, 0u);
  EXPECT_EQ(fake().unsafe_calls, 0u);
  EXPECT_FALSE(shim().captures.any());
  for (uint64_t left = attachment_->streams.used(); left != 0; left &= left - 1) {
    const abi::StreamSlot& slot = segment().streams[std::countr_zero(left)];
    EXPECT_EQ(slot.completed_cost_ns, slot.submitted_cost_ns);
  }
}

}  // namespace
}  // namespace gacer::interpose
