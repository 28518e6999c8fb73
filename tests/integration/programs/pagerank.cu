// SPDX-License-Identifier: Apache-2.0
// PageRank by power iteration, half-precision storage, one captured graph launched again and again.
#include <cuda_fp16.h>

#include "program.h"

__global__ void spread(const int* first, const int* from, const __half* share, float* rank, int n,
                       float damping) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= n) return;
  float sum = 0;
  for (int i = first[node]; i < first[node + 1]; ++i) sum += __half2float(share[from[i]]);
  rank[node] = (1 - damping) / n * 1024 + damping * sum;
}

__global__ void shares(const float* rank, const int* out_degree, __half* share, int n) {
  const int pair = blockIdx.x * blockDim.x + threadIdx.x, a = 2 * pair, b = a + 1;
  if (a >= n) return;
  const float2 both =
      make_float2(rank[a] / max(out_degree[a], 1), b < n ? rank[b] / max(out_degree[b], 1) : 0.0f);
  const __half2 packed = __float22half2_rn(both);
  if (b < n)
    *reinterpret_cast<__half2*>(&share[a]) = packed;
  else
    share[a] = __low2half(packed);
}

int main() {
  constexpr int kNodes = 501, kSteps = 12;
  const float damping = 0.85f;
  Random random(38);
  std::vector<int> first{0}, from, degree(kNodes);
  for (int node = 0; node < kNodes; ++node) {
    const int links = 1 + int(random.below(node % 20 == 0 ? 60 : 6));
    for (int i = 0; i < links; ++i)
      from.push_back(int(random.below(kNodes))), ++degree[from.back()];
    first.push_back(int(from.size()));
  }
  std::vector<float> rank(kNodes, 1024.0f / kNodes), next(kNodes);
  DeviceArray<int> dfirst(first), dfrom(from), ddegree(degree);
  DeviceArray<float> drank(rank);
  DeviceArray<__half> share(kNodes);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  shares<<<2, 128, 0, stream>>>(drank.get(), ddegree.get(), share.get(), kNodes);
  spread<<<4, 128, 0, stream>>>(dfirst.get(), dfrom.get(), share.get(), drank.get(), kNodes,
                                damping);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int step = 0; step < kSteps; ++step) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int step = 0; step < kSteps; ++step) {
    for (int node = 0; node < kNodes; ++node) {
      float sum = 0;
      for (int i = first[node]; i < first[node + 1]; ++i)
        sum += __half2float(__float2half(rank[from[i]] / std::max(degree[from[i]], 1)));
      next[node] = (1 - damping) / kNodes * 1024 + damping * sum;
    }
    rank.swap(next);
  }
  EXPECT(same(drank.host(), rank, 3e-3));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  return passed("pagerank");
}
