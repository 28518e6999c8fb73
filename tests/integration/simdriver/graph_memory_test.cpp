// SPDX-License-Identifier: Apache-2.0
// Allocation and free nodes of graphs, added and captured.
#include <gmock/gmock.h>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

constexpr size_t kPart = 2 << 20;

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

cuuint64_t graph_bytes(CUgraphMem_attribute attribute) {
  cuuint64_t value = 0;
  EXPECT_EQ(cuDeviceGetGraphMemAttribute(0, attribute, &value), CUDA_SUCCESS);
  return value;
}

CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t bytes) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.bytesize = bytes;
  return params;
}

class GraphMemoryTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    CU_OK(cuGraphCreate(&graph_, 0));
    CU_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CU_OK(cuDeviceGraphMemTrim(0));
    before_ = free_bytes();
  }
  void TearDown() override {
    if (exec_ != nullptr) {
      CU_OK(cuGraphExecDestroy(exec_));
    }
    CU_OK(cuGraphDestroy(graph_));
    CU_OK(cuStreamDestroy(stream_));
    CU_OK(cuDeviceGraphMemTrim(0));
    EXPECT_EQ(free_bytes(), before_);
    DeviceTest::TearDown();
  }
  CUdeviceptr add_alloc(size_t bytes, CUgraphNode* node) {
    CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(bytes);
    EXPECT_EQ(cuGraphAddMemAllocNode(node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
    return params.dptr;
  }
  // memset to `value`, copy to `target`.
  CUgraphNode add_work(CUdeviceptr data, int value, CUdeviceptr target, CUgraphNode after) {
    CUDA_MEMSET_NODE_PARAMS fill{data, 0, static_cast<unsigned>(value), 4, 8, 1};
    CUgraphNode filled = nullptr, copied = nullptr;
    EXPECT_EQ(cuGraphAddMemsetNode(&filled, graph_, &after, 1, &fill, context_), CUDA_SUCCESS);
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = data;
    copy.dstDevice = target;
    copy.WidthInBytes = 32;
    copy.Height = copy.Depth = 1;
    EXPECT_EQ(cuGraphAddMemcpyNode(&copied, graph_, &filled, 1, &copy, context_), CUDA_SUCCESS);
    return copied;
  }
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUstream stream_ = nullptr;
  size_t before_ = 0;
};

TEST_F(GraphMemoryTest,
       given_memory_freed_in_its_graph_then_launches_use_it_and_trim_gives_it_back) {
  CUdeviceptr target = 0;
  CU_OK(cuMemAlloc(&target, 32));
  CUgraphNode alloc = nullptr, release = nullptr;
  const CUdeviceptr data = add_alloc(kPart + 1, &alloc);
  CUgraphNode last = add_work(data, 5, target, alloc);
  CU_OK(cuGraphAddMemFreeNode(&release, graph_, &last, 1, data));
  EXPECT_EQ(free_bytes(), before_ - 512);  // nothing before the first launch
  CU_OK(cuGraphInstantiate(&exec_, graph_, 0));
  for (int i = 0; i < 3; ++i) CU_OK(cuGraphLaunch(exec_, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_THAT(read_ints(target, 8), testing::Each(5));
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 2 * kPart);
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0U);
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), kPart + 1);
  EXPECT_EQ(free_bytes(), before_ - 512 - 2 * kPart);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(data));  // its graph frees it
  CU_OK(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0U);
  CU_OK(cuGraphLaunch(exec_, stream_));  // comes again
  CU_OK(cuStreamSynchronize(stream_));
  cuuint64_t zero = 0, one = 1;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &one));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero));
  CU_OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0U);
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGraphMemTrim(3));
  CU_OK(cuMemFree(target));
}

TEST_F(GraphMemoryTest, given_memory_not_freed_then_it_lives_on_and_a_second_launch_is_refused) {
  CUgraphNode alloc = nullptr;
  const CUdeviceptr data = add_alloc(1000, &alloc);
  CUDA_MEMSET_NODE_PARAMS fill{data, 0, 9, 4, 8, 1};
  CUgraphNode filled = nullptr;
  CU_OK(cuGraphAddMemsetNode(&filled, graph_, &alloc, 1, &fill, context_));
  CU_OK(cuGraphInstantiate(&exec_, graph_, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(data));  // not allocated yet
  CU_OK(cuGraphLaunch(exec_, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_THAT(read_ints(data, 8), testing::Each(9));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec_, stream_));
  CU_OK(cuMemFreeAsync(data, stream_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(data, stream_));
  CU_OK(cuGraphLaunch(exec_, stream_));
  CU_OK(cuMemFree(data));
  CU_OK(cuGraphExecDestroy(exec_));
  CU_OK(cuGraphInstantiate(&exec_, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  CU_OK(cuGraphLaunch(exec_, stream_));
  CU_OK(cuGraphLaunch(exec_, stream_));
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 1000U);
  CU_OK(cuMemFree(data));
}

TEST_F(GraphMemoryTest, given_the_graph_goes_first_then_what_it_has_allocated_stays_until_freed) {
  CUgraph other = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(4096);
  CU_OK(cuGraphCreate(&other, 0));
  CU_OK(cuGraphAddMemAllocNode(&node, other, nullptr, 0, &params));
  CU_OK(cuGraphInstantiate(&exec, other, 0));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(other));
  CU_OK(cuMemsetD32Async(params.dptr, 3, 100, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_THAT(read_ints(params.dptr, 100), testing::Each(3));
  CU_OK(cuMemFreeAsync(params.dptr, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(params.dptr, 3, 100));
  EXPECT_EQ(free_bytes(), before_);
}

TEST_F(GraphMemoryTest, given_another_graph_frees_it_then_the_owner_may_not) {
  CUgraph other = nullptr;
  CUgraphExec freeing = nullptr;
  CUgraphNode alloc = nullptr, node = nullptr;
  const CUdeviceptr data = add_alloc(4096, &alloc);
  CU_OK(cuGraphCreate(&other, 0));
  CU_OK(cuGraphAddMemFreeNode(&node, other, nullptr, 0, data));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&node, other, nullptr, 0, data));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&node, graph_, &alloc, 1, data));
  CU_OK(cuGraphInstantiate(&exec_, graph_, 0));
  CU_OK(cuGraphInstantiate(&freeing, other, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(freeing, stream_));  // nothing to free yet
  CU_OK(cuGraphLaunch(exec_, stream_));
  CU_OK(cuGraphLaunch(freeing, stream_));
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0U);
  CU_OK(cuStreamSynchronize(stream_));
  CU_OK(cuGraphExecDestroy(freeing));
  CU_OK(cuGraphDestroy(other));
}

TEST_F(GraphMemoryTest, given_graphs_with_memory_nodes_then_they_cannot_be_cloned_or_taken_apart) {
  CUgraphNode alloc = nullptr, release = nullptr, child = nullptr;
  CUgraph clone = nullptr, parent = nullptr;
  CUgraphExec second = nullptr;
  const CUdeviceptr data = add_alloc(100, &alloc);
  CU_OK(cuGraphAddMemFreeNode(&release, graph_, &alloc, 1, data));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&release, graph_, &alloc, 1, data));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&release, graph_, &alloc, 1, 4096));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(alloc));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphClone(&clone, graph_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies(graph_, &alloc, &release, nullptr, 1));
  CU_OK(cuGraphCreate(&parent, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddChildGraphNode(&child, parent, nullptr, 0, graph_));
  CU_OK(cuGraphDestroy(parent));
  CU_OK(cuGraphInstantiate(&exec_, graph_, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&second, graph_, 0));
  CUgraphNodeType type{};
  CU_OK(cuGraphNodeGetType(alloc, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  CUDA_MEM_ALLOC_NODE_PARAMS told{};
  CUdeviceptr freed = 0;
  CU_OK(cuGraphMemAllocNodeGetParams(alloc, &told));
  EXPECT_EQ(told.dptr, data);
  EXPECT_EQ(told.bytesize, 100U);
  CU_OK(cuGraphMemFreeNodeGetParams(release, &freed));
  EXPECT_EQ(freed, data);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphMemFreeNodeGetParams(alloc, &freed));
  CUDA_MEM_ALLOC_NODE_PARAMS wrong = alloc_params(0);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode(&child, graph_, nullptr, 0, &wrong));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode(&child, graph_, nullptr, 0, nullptr));
  wrong = alloc_params(100);
  wrong.poolProps.location.id = 5;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode(&child, graph_, nullptr, 0, &wrong));
}

TEST_F(GraphMemoryTest, given_captured_allocation_and_free_then_they_become_nodes) {
  CUdeviceptr target = 0, data = 0, outside = 0;
  CUgraph captured = nullptr;
  CU_OK(cuMemAlloc(&target, 400));
  CU_OK(cuMemAlloc(&outside, 400));
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_OK(cuMemAllocAsync(&data, 400, stream_));
  CU_OK(cuMemsetD32Async(data, 11, 100, stream_));
  CU_OK(add_one(data, 100, stream_));
  CU_OK(cuMemcpyDtoDAsync(target, data, 400, stream_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(outside, stream_));
  CU_OK(cuMemFreeAsync(data, stream_));
  CU_OK(cuStreamEndCapture(stream_, &captured));
  size_t count = 0;
  CU_OK(cuGraphGetNodes(captured, nullptr, &count));
  EXPECT_EQ(count, 5U);
  CU_OK(cuGraphInstantiate(&exec_, captured, 0));
  CU_OK(cuGraphLaunch(exec_, stream_));
  CU_OK(cuGraphLaunch(exec_, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_THAT(read_ints(target, 100), testing::Each(12));
  CU_OK(cuGraphExecDestroy(exec_));
  exec_ = nullptr;
  CU_OK(cuGraphDestroy(captured));
  CU_OK(cuMemFree(target));
  CU_OK(cuMemFree(outside));
}

TEST_F(GraphMemoryTest, given_too_little_memory_then_the_launch_fails_and_nothing_runs) {
  CUdeviceptr target = 0;
  CU_OK(cuMemAlloc(&target, 32));
  CU_OK(cuMemsetD32(target, 1, 8));
  CUgraphNode alloc = nullptr, release = nullptr;
  const CUdeviceptr data = add_alloc(size_t{1} << 39, &alloc);
  CUgraphNode last = add_work(data, 5, target, alloc);
  CU_OK(cuGraphAddMemFreeNode(&release, graph_, &last, 1, data));
  CU_OK(cuGraphInstantiate(&exec_, graph_, 0));
  CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuGraphLaunch(exec_, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_THAT(read_ints(target, 8), testing::Each(1));
  EXPECT_EQ(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0U);
  CU_OK(cuMemFree(target));
}

}  // namespace
}  // namespace gacer::simdriver
