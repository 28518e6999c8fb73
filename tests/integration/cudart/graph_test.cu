// SPDX-License-Identifier: Apache-2.0
// Graphs through the runtime: captured, built by hand, updated, cloned, with memory nodes, symbols
// and user objects.
#include <atomic>
#include <cstring>

#include "tests/integration/cudart/cuda_test.h"

namespace {

__device__ int offset = 100;

__global__ void add(int* out, int value) {
  out[threadIdx.x] += value;
}
__global__ void add_offset(int* out) {
  out[threadIdx.x] += offset;
}

struct Stream {
  Stream() { EXPECT_CUDA(cudaStreamCreate(&value)); }
  ~Stream() { cudaStreamDestroy(value); }
  cudaStream_t value = nullptr;
};

cudaKernelNodeParams kernel_params(void* function, void** args) {
  cudaKernelNodeParams params{};
  params.func = function;
  params.gridDim = dim3(1);
  params.blockDim = dim3(8);
  params.kernelParams = args;
  return params;
}

TEST(Capture, RunsEachLaunchAgain) {
  Stream stream;
  DeviceBuffer<int> out(8);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.value, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  ASSERT_CUDA(
      cudaStreamGetCaptureInfo(stream.value, &status, &id, nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(cudaStreamCaptureStatusActive, status);
  ASSERT_CUDA(cudaMemsetAsync(out.get(), 0, 32, stream.value));
  add<<<1, 8, 0, stream.value>>>(out.get(), 5);
  add_offset<<<1, 8, 0, stream.value>>>(out.get());
  ASSERT_CUDA(cudaStreamEndCapture(stream.value, &graph));
  size_t nodes = 0;
  ASSERT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(3u, nodes);
  ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) ASSERT_CUDA(cudaGraphLaunch(exec, stream.value));
  ASSERT_CUDA(cudaStreamSynchronize(stream.value));
  EXPECT_EQ(105, out.read()[7]);
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST(Capture, UnsafeCallsInvalidateIt) {
  Stream stream;
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream.value, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream.value));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream.value, &graph));
  (void)cudaGetLastError();
  EXPECT_CUDA(cudaMalloc(&memory, 16));
  EXPECT_CUDA(cudaFree(memory));
}

TEST(Explicit, KernelNodesGiveBackTheirHostFunction) {
  Stream stream;
  DeviceBuffer<int> out(8);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t zero, first, second;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  cudaMemsetParams memset{};
  memset.dst = out.get();
  memset.elementSize = 4;
  memset.width = 8;
  memset.height = 1;
  ASSERT_CUDA(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &memset));
  int* pointer = out.get();
  int value = 3;
  void* args[] = {&pointer, &value};
  cudaKernelNodeParams params = kernel_params(reinterpret_cast<void*>(add), args);
  ASSERT_CUDA(cudaGraphAddKernelNode(&first, graph, &zero, 1, &params));
  ASSERT_CUDA(cudaGraphAddKernelNode(&second, graph, &first, 1, &params));
  cudaKernelNodeParams read{};
  ASSERT_CUDA(cudaGraphKernelNodeGetParams(first, &read));
  EXPECT_EQ(reinterpret_cast<void*>(add), read.func);
  EXPECT_EQ(8u, read.blockDim.x);
  ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  value = 10;
  ASSERT_CUDA(cudaGraphExecKernelNodeSetParams(exec, second, &params));
  ASSERT_CUDA(cudaGraphLaunch(exec, stream.value));
  ASSERT_CUDA(cudaStreamSynchronize(stream.value));
  EXPECT_EQ(13, out.read()[0]);
  size_t edges = 0;
  ASSERT_CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(2u, edges);
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST(Explicit, CopiesOfSymbolsAndHostNodes) {
  Stream stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t write, read, host_node;
  int in = 77, out = 0;
  static std::atomic<int> called{0};
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ASSERT_CUDA(cudaGraphAddMemcpyNodeToSymbol(&write, graph, nullptr, 0, offset, &in, 4, 0,
                                             cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaGraphAddMemcpyNodeFromSymbol(&read, graph, &write, 1, &out, offset, 4, 0,
                                               cudaMemcpyDeviceToHost));
  cudaHostNodeParams host{};
  host.fn = [](void*) { ++called; };
  ASSERT_CUDA(cudaGraphAddHostNode(&host_node, graph, &read, 1, &host));
  ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_CUDA(cudaGraphLaunch(exec, stream.value));
  ASSERT_CUDA(cudaStreamSynchronize(stream.value));
  EXPECT_EQ(77, out);
  EXPECT_EQ(1, called);
  cudaMemcpy3DParms copy{};
  ASSERT_CUDA(cudaGraphMemcpyNodeGetParams(write, &copy));
  EXPECT_EQ(&in, copy.srcPtr.ptr);
  EXPECT_EQ(4u, copy.extent.width);
  const int original = 100;
  ASSERT_CUDA(cudaMemcpyToSymbol(offset, &original, 4));
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST(Explicit, MemoryNodesChildrenAndClones) {
  Stream stream;
  DeviceBuffer<int> out(8);
  ASSERT_CUDA(cudaMemset(out.get(), 0, 32));
  cudaGraph_t child, graph, clone;
  cudaGraphExec_t exec;
  cudaGraphNode_t kernel, child_node, alloc, copy, release;
  int* pointer = out.get();
  int value = 1;
  void* args[] = {&pointer, &value};
  cudaKernelNodeParams params = kernel_params(reinterpret_cast<void*>(add), args);
  ASSERT_CUDA(cudaGraphCreate(&child, 0));
  ASSERT_CUDA(cudaGraphAddKernelNode(&kernel, child, nullptr, 0, &params));
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ASSERT_CUDA(cudaGraphAddChildGraphNode(&child_node, graph, nullptr, 0, child));
  ASSERT_CUDA(cudaGraphClone(&clone, graph));
  cudaGraphNodeType type;
  cudaGraphNode_t in_clone;
  ASSERT_CUDA(cudaGraphNodeFindInClone(&in_clone, child_node, clone));
  ASSERT_CUDA(cudaGraphNodeGetType(in_clone, &type));
  EXPECT_EQ(cudaGraphNodeTypeGraph, type);
  cudaMemAllocNodeParams memory{};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location.type = cudaMemLocationTypeDevice;
  memory.bytesize = 32;
  ASSERT_CUDA(cudaGraphAddMemAllocNode(&alloc, graph, &child_node, 1, &memory));
  ASSERT_NE(nullptr, memory.dptr);
  ASSERT_CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &alloc, 1, memory.dptr, out.get(), 32,
                                       cudaMemcpyDeviceToDevice));
  ASSERT_CUDA(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, memory.dptr));
  ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_CUDA(cudaGraphLaunch(exec, stream.value));
  ASSERT_CUDA(cudaStreamSynchronize(stream.value));
  EXPECT_EQ(1, out.read()[3]);
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  for (cudaGraph_t g : {child, graph, clone}) EXPECT_CUDA(cudaGraphDestroy(g));
}

TEST(Generic, NodesOfAnyKindAndUpdate) {
  Stream stream;
  DeviceBuffer<int> out(8);
  ASSERT_CUDA(cudaMemset(out.get(), 0, 32));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node;
  int* pointer = out.get();
  int value = 4;
  void* args[] = {&pointer, &value};
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = reinterpret_cast<void*>(add);
  params.kernel.gridDim = dim3(1);
  params.kernel.blockDim = dim3(8);
  params.kernel.kernelParams = args;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ASSERT_CUDA(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
  ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  value = 6;
  ASSERT_CUDA(cudaGraphNodeSetParams(node, &params));
  cudaGraphExecUpdateResultInfo info{};
  ASSERT_CUDA(cudaGraphExecUpdate(exec, graph, &info));
  EXPECT_EQ(cudaGraphExecUpdateSuccess, info.result);
  ASSERT_CUDA(cudaGraphLaunch(exec, stream.value));
  ASSERT_CUDA(cudaStreamSynchronize(stream.value));
  EXPECT_EQ(6, out.read()[0]);
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST(Generic, ConditionalBodyRunsByItsDefaultValue) {
  Stream stream;
  DeviceBuffer<int> out(8);
  int* pointer = out.get();
  int value = 2;
  void* args[] = {&pointer, &value};
  const cudaKernelNodeParams kernel = kernel_params(reinterpret_cast<void*>(add), args);
  for (unsigned condition : {0u, 1u}) {
    ASSERT_CUDA(cudaMemset(out.get(), 0, 32));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node, inside;
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    ASSERT_CUDA(cudaGraphCreate(&graph, 0));
    ASSERT_CUDA(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, condition,
                                                 cudaGraphCondAssignDefault));
    ASSERT_CUDA(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    ASSERT_NE(nullptr, params.conditional.phGraph_out);
    ASSERT_CUDA(
        cudaGraphAddKernelNode(&inside, params.conditional.phGraph_out[0], nullptr, 0, &kernel));
    ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    ASSERT_CUDA(cudaGraphLaunch(exec, stream.value));
    ASSERT_CUDA(cudaStreamSynchronize(stream.value));
    EXPECT_EQ(condition == 1 ? 2 : 0, out.read()[0]);
    EXPECT_CUDA(cudaGraphExecDestroy(exec));
    EXPECT_CUDA(cudaGraphDestroy(graph));
  }
}

TEST(Generic, UserObjectsAreDestroyedWithTheGraph) {
  static std::atomic<int> destroyed{0};
  cudaGraph_t graph;
  cudaUserObject_t object;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ASSERT_CUDA(cudaUserObjectCreate(
      &object, &destroyed, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, 1,
      cudaUserObjectNoDestructorSync));
  ASSERT_CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  EXPECT_EQ(0, destroyed);
  EXPECT_CUDA(cudaGraphDestroy(graph));
  EXPECT_EQ(1, destroyed);
}

}  // namespace
