// SPDX-License-Identifier: Apache-2.0
// Capture and graphs.
#include <atomic>
#include <thread>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

class GraphTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    CU_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CU_OK(cuStreamCreate(&side_, CU_STREAM_NON_BLOCKING));
  }
  size_t node_count(CUgraph graph) {
    size_t count = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphGetNodes(graph, nullptr, &count));
    return count;
  }
  CUgraphNode add_kernel(CUgraph graph, const std::vector<CUgraphNode>& dependencies,
                         CUdeviceptr data) {
    unsigned n = 1;
    void* params[] = {&data, &n};
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = function("add_one");
    node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimX = node.blockDimY =
        node.blockDimZ = 1;
    node.kernelParams = params;
    CUgraphNode added = nullptr;
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddKernelNode(&added, graph, dependencies.data(), dependencies.size(), &node));
    return added;
  }
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphInstantiate(&exec, graph, 0));
    return exec;
  }
  CUstream stream_ = nullptr;
  CUstream side_ = nullptr;
};

TEST_F(GraphTest, ACaptureRunsNothingUntilTheGraphIsLaunched) {
  CUdeviceptr data = allocate_ints({0});
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(cuMemsetD32Async(data, 10, 1, stream_));
  CU_OK(add_one(data, 1, stream_));
  CU_OK(add_one(data, 1, stream_));
  CUgraph graph = nullptr;
  CU_OK(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(node_count(graph), 3U);
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 1)[0], 0);
  CUgraphExec exec = instantiate(graph);
  for (int i = 0; i < 3; ++i) CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 1)[0], 12);
  CU_OK(cuGraphDestroy(graph));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  CU_OK(cuGraphExecDestroy(exec));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream_));
}

TEST_F(GraphTest, ForkAndJoinByEventsBecomeEdges) {
  CUevent fork = nullptr, join = nullptr;
  CU_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CU_OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  CUdeviceptr a = allocate_ints({0}), b = allocate_ints({0});
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CU_OK(add_one(a, 1, stream_));
  CU_OK(cuEventRecord(fork, stream_));
  CU_OK(cuStreamWaitEvent(side_, fork, 0));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CU_OK(cuStreamIsCapturing(side_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CU_OK(add_one(b, 1, side_));
  CU_OK(cuEventRecord(join, side_));
  CU_OK(add_one(a, 1, stream_));
  CU_OK(cuStreamWaitEvent(stream_, join, 0));
  CU_OK(add_one(b, 1, stream_));
  CUgraph graph = nullptr;
  CU_OK(cuStreamEndCapture(stream_, &graph));
  size_t edges = 0;
  CU_OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(node_count(graph), 4U);
  EXPECT_EQ(edges, 4U);
  CU_OK(cuGraphLaunch(instantiate(graph), side_));
  CU_OK(cuStreamSynchronize(side_));
  EXPECT_EQ(read_ints(a, 1)[0], 2);
  EXPECT_EQ(read_ints(b, 1)[0], 2);
  CU_IS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(join));
}

TEST_F(GraphTest, AnUnjoinedStreamIsAnError) {
  CUevent fork = nullptr;
  CU_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CUdeviceptr data = allocate_ints({0});
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(cuEventRecord(fork, stream_));
  CU_OK(cuStreamWaitEvent(side_, fork, 0));
  CU_OK(add_one(data, 1, side_));
  CUgraph graph = nullptr;
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(side_, &graph));
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(graph, nullptr);
  CU_OK(add_one(data, 1, side_));
  CU_OK(cuStreamSynchronize(side_));
  EXPECT_EQ(read_ints(data, 1)[0], 1);
}

TEST_F(GraphTest, ForbiddenCallsInvalidateTheCapture) {
  const auto invalidated_by = [this](CUresult expected, auto call) {
    EXPECT_EQ(CUDA_SUCCESS, cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_EQ(expected, call());
    CUgraph graph = nullptr;
    EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream_, &graph));
  };
  CUdeviceptr data = 0;
  invalidated_by(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                 [&] { return cuStreamSynchronize(stream_); });
  invalidated_by(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamQuery(stream_); });
  invalidated_by(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuCtxSynchronize(); });
  invalidated_by(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuMemAlloc(&data, 4); });
  CUevent event = nullptr;
  CU_OK(cuEventCreate(&event, 0));
  CU_OK(cuEventRecord(event, side_));
  invalidated_by(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                 [&] { return cuStreamWaitEvent(stream_, event, 0); });
}

TEST_F(GraphTest, RelaxedCapturesAllowThem) {
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr data = 0;
  CU_OK(cuMemAlloc(&data, 4));
  CU_OK(cuCtxSynchronize());
  CUgraph graph = nullptr;
  CU_OK(cuStreamEndCapture(stream_, &graph));
}

TEST_F(GraphTest, TheLegacyStreamMayNotBeUsedBesideABlockingCapture) {
  CUstream blocking = nullptr;
  CU_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CUdeviceptr data = allocate_ints({0});
  CU_OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, add_one(data, 1));
  CUgraph graph = nullptr;
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(add_one(data, 1));
}

TEST_F(GraphTest, OnlyTheCapturingThreadMayEndIt) {
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CUresult from_other = CUDA_SUCCESS;
  CUresult allocation = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    cuCtxSetCurrent(context_);
    CUgraph graph = nullptr;
    CUdeviceptr data = 0;
    from_other = cuStreamEndCapture(stream_, &graph);
    allocation = cuMemAlloc(&data, 4);  // another thread is free under a thread-local capture
  }).join();
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, from_other);
  CU_IS(CUDA_SUCCESS, allocation);
  CUgraph graph = nullptr;
  CU_OK(cuStreamEndCapture(stream_, &graph));
}

TEST_F(GraphTest, CaptureInfoNamesGraphAndDependencies) {
  CUdeviceptr data = allocate_ints({0});
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_OK(add_one(data, 1, stream_));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph during = nullptr, after = nullptr;
  const CUgraphNode* dependencies = nullptr;
  const CUgraphEdgeData* edge_data = nullptr;
  size_t count = 0;
  CU_OK(cuStreamGetCaptureInfo(stream_, &status, &id, &during, &dependencies, &edge_data, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(count, 1U);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CU_OK(cuGraphNodeGetType(dependencies[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  EXPECT_NE(id, 0U);
  CU_OK(cuStreamEndCapture(stream_, &after));
  EXPECT_EQ(during, after);
}

TEST_F(GraphTest, AnExplicitGraphRunsInItsOrder) {
  CUgraph graph = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  CUdeviceptr data = allocate_ints({0, 0});
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = data;
  fill.value = 100;
  fill.elementSize = 4;
  fill.width = 1;
  fill.height = 1;
  // Added last, run first.
  CUgraphNode kernel = add_kernel(graph, {}, data), memset_node = nullptr, copy_node = nullptr,
              host_node = nullptr;
  CU_OK(cuGraphAddMemsetNode(&memset_node, graph, nullptr, 0, &fill, context_));
  CU_OK(cuGraphAddDependencies(graph, &memset_node, &kernel, nullptr, 1));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = data;
  copy.dstDevice = data + 4;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 4;
  copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1;
  CU_OK(cuGraphAddMemcpyNode(&copy_node, graph, &kernel, 1, &copy, context_));
  std::atomic<int> calls{0};
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  host.userData = &calls;
  CU_OK(cuGraphAddHostNode(&host_node, graph, &copy_node, 1, &host));
  CUgraphExec exec = instantiate(graph);
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 2), (std::vector<int>{101, 101}));
  EXPECT_EQ(calls.load(), 2);
}

TEST_F(GraphTest, NodeParametersCanBeReadAndChangedInTheExec) {
  CUgraph graph = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  CUdeviceptr first = allocate_ints({0}), second = allocate_ints({0});
  CUgraphNode node = add_kernel(graph, {}, first);
  CUDA_KERNEL_NODE_PARAMS params{};
  CU_OK(cuGraphKernelNodeGetParams(node, &params));
  EXPECT_EQ(params.func, function("add_one"));
  EXPECT_EQ(*static_cast<CUdeviceptr*>(params.kernelParams[0]), first);
  CUgraphExec exec = instantiate(graph);
  unsigned n = 1;
  void* changed[] = {&second, &n};
  params.kernelParams = changed;
  CU_OK(cuGraphExecKernelNodeSetParams(exec, node, &params));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(first, 1)[0], 0);
  EXPECT_EQ(read_ints(second, 1)[0], 1);
  params.blockDimX = 5000;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, node, &params));
}

TEST_F(GraphTest, UpdateTakesTheSameShapeAndRefusesAnother) {
  CUdeviceptr first = allocate_ints({0}), second = allocate_ints({0});
  CUgraph graph = nullptr, same = nullptr, longer = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  CU_OK(cuGraphCreate(&same, 0));
  CU_OK(cuGraphCreate(&longer, 0));
  add_kernel(graph, {}, first);
  add_kernel(same, {}, second);
  add_kernel(longer, {add_kernel(longer, {}, second)}, second);
  CUgraphExec exec = instantiate(graph);
  CUgraphExecUpdateResultInfo info{};
  CU_OK(cuGraphExecUpdate(exec, same, &info));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_IS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, longer, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(first, 1)[0], 0);
  EXPECT_EQ(read_ints(second, 1)[0], 1);
}

TEST_F(GraphTest, CyclesAreRefusedAtInstantiation) {
  CUdeviceptr data = allocate_ints({0});
  CUgraph graph = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  CUgraphNode a = add_kernel(graph, {}, data);
  CUgraphNode b = add_kernel(graph, {a}, data);
  CU_OK(cuGraphAddDependencies(graph, &b, &a, nullptr, 1));
  CUgraphExec exec = nullptr;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, graph, 0));
}

TEST_F(GraphTest, ChildGraphsAndClonesRun) {
  CUdeviceptr data = allocate_ints({0});
  CUgraph child = nullptr, parent = nullptr, clone = nullptr;
  CU_OK(cuGraphCreate(&child, 0));
  CUgraphNode inner = add_kernel(child, {}, data), outer = nullptr, found = nullptr;
  CU_OK(cuGraphCreate(&parent, 0));
  CU_OK(cuGraphAddChildGraphNode(&outer, parent, nullptr, 0, child));
  add_kernel(parent, {outer}, data);
  CU_OK(cuGraphClone(&clone, parent));
  CU_OK(cuGraphNodeFindInClone(&found, outer, clone));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&found, inner, clone));
  CU_OK(cuGraphDestroy(parent));
  CU_OK(cuGraphDestroy(child));
  CU_OK(cuGraphLaunch(instantiate(clone), stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 1)[0], 2);
}

TEST_F(GraphTest, ALaunchWhileCapturingBecomesAChildGraph) {
  CUdeviceptr data = allocate_ints({0});
  CUgraph graph = nullptr, outer = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  add_kernel(graph, {add_kernel(graph, {}, data)}, data);
  CUgraphExec exec = instantiate(graph);
  CU_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(add_one(data, 1, stream_));
  CU_OK(cuStreamEndCapture(stream_, &outer));
  EXPECT_EQ(node_count(outer), 2U);
  EXPECT_EQ(read_ints(data, 1)[0], 0);
  CU_OK(cuGraphLaunch(instantiate(outer), stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 1)[0], 3);
}

TEST_F(GraphTest, LaunchesOnTwoStreamsDoNotOverlap) {
  CUdeviceptr data = allocate_ints({0});
  CUgraph graph = nullptr;
  CU_OK(cuGraphCreate(&graph, 0));
  CUgraphNode last = nullptr;
  for (int i = 0; i < 20; ++i)
    last =
        add_kernel(graph, last == nullptr ? std::vector<CUgraphNode>{} : std::vector{last}, data);
  CUgraphExec exec = instantiate(graph);
  for (int i = 0; i < 10; ++i) CU_OK(cuGraphLaunch(exec, i % 2 == 0 ? stream_ : side_));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(data, 1)[0], 200);
}

}  // namespace
}  // namespace gacer::simdriver
