// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;

class MemoryGraphsTest : public test::MemoryFixture {
 protected:
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(gacer_hook_cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  CUresult launch(CUgraphExec exec) {
    return gacer_hook_cuGraphLaunch(exec, test::stream_number(1));
  }
};

TEST_F(MemoryGraphsTest, MEM_29_the_quota_is_honoured_at_launch) {
  limit(64 * kMiB);
  const CUgraphExec exec = instantiate(test::graph_with_allocation(40 * kMiB));
  EXPECT_EQ(charged(), 0u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(launch(exec), CUDA_SUCCESS);
    EXPECT_EQ(charged(), 40 * kMiB);
    expect_exact();
  }
  CUdeviceptr pointer = 0;
  EXPECT_EQ(alloc(pointer, 25 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc(pointer, 24 * kMiB), CUDA_SUCCESS);
  const CUgraphExec larger = instantiate(test::graph_with_allocation(41 * kMiB));
  EXPECT_EQ(launch(larger), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(pointer), CUDA_SUCCESS);
  EXPECT_EQ(launch(larger), CUDA_SUCCESS);
  expect_exact();
  EXPECT_EQ(gacer_hook_cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(in_use(), 0u);
}

TEST_F(MemoryGraphsTest, MEM_29_a_failing_launch_leaves_no_reservation) {
  limit(64 * kMiB);
  const CUgraphExec exec = instantiate(test::graph_with_allocation(40 * kMiB));
  fake_memory().fail_call = 3;  // after the two questions about the reserve
  EXPECT_EQ(launch(exec), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(launch(exec), CUDA_SUCCESS);
  expect_exact();
}

TEST_F(MemoryGraphsTest, given_graphs_without_allocations_then_nothing_is_asked) {
  const CUgraphExec exec = instantiate(reinterpret_cast<CUgraph>(uint64_t{0x1230}));
  const uint64_t calls = fake_memory().calls;
  EXPECT_EQ(launch(exec), CUDA_SUCCESS);
  EXPECT_EQ(fake_memory().calls, calls + 1);
}

}  // namespace
}  // namespace gacer::interpose
