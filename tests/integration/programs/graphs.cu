// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: captured over two streams, built by hand, updated, and launched many times.
#include "program.h"

__global__ void scale(float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

constexpr int kCount = 1000, kBlocks = 8, kThreads = 128;

void captured() {
  DeviceArray<float> a(std::vector<float>(kCount, 1)), b(std::vector<float>(kCount, 2)), c(kCount);
  cudaStream_t main, side;
  CHECK(cudaStreamCreate(&main));
  CHECK(cudaStreamCreate(&side));
  cudaEvent_t fork, join;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, main));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  scale<<<kBlocks, kThreads, 0, main>>>(a.get(), 2, kCount);
  scale<<<kBlocks, kThreads, 0, side>>>(b.get(), 3, kCount);
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main, join, 0));
  add<<<kBlocks, kThreads, 0, main>>>(a.get(), b.get(), c.get(), kCount);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(main, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 3);
  EXPECT(c.host().size() == kCount && a.host()[0] == 1);  // nothing ran while capturing
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, main));
  CHECK(cudaStreamSynchronize(main));
  EXPECT(same(c.host(), std::vector<float>(kCount, 8 + 54)));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(main));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
}

void built() {
  std::vector<float> host(kCount, 5), back(kCount);
  DeviceArray<float> x(kCount);
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t upload, kernel, download;
  CHECK(cudaGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, x.get(), host.data(), x.bytes(),
                                 cudaMemcpyHostToDevice));
  float* pointer = x.get();
  float factor = 4;
  int n = kCount;
  void* args[] = {&pointer, &factor, &n};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(scale);
  params.gridDim = dim3(kBlocks), params.blockDim = dim3(kThreads), params.kernelParams = args;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &upload, 1, &params));
  CHECK(cudaGraphAddMemcpyNode1D(&download, graph, &kernel, 1, back.data(), x.get(), x.bytes(),
                                 cudaMemcpyDeviceToHost));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(same(back, std::vector<float>(kCount, 20)));

  factor = -1;  // the node keeps copies until it is told otherwise
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(back[0] == 20);
  CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(same(back, std::vector<float>(kCount, -5)));

  factor = 10;
  CHECK(cudaGraphKernelNodeSetParams(kernel, &params));
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  cudaGraph_t copy;
  CHECK(cudaGraphClone(&copy, graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(same(back, std::vector<float>(kCount, 50)));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, copy, 0));
  back.assign(kCount, 0);
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(back[kCount - 1] == 50);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(copy));
}

int main() {
  captured();
  built();
  return passed("graphs");
}
