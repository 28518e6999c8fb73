// SPDX-License-Identifier: Apache-2.0
// Breadth-first search with frontier queues built by warp-aggregated atomics; connected components.
#include <queue>

#include "program.h"

__device__ int append(int* count, bool wanted) {
  const unsigned lanes = __ballot_sync(__activemask(), wanted);
  const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
  int base = 0;
  if (wanted) {
    if (lane == leader) base = atomicAdd(count, __popc(lanes));
    base = __shfl_sync(lanes, base, leader);
  }
  return base + __popc(lanes & ((1u << lane) - 1));
}

__global__ void expand(const int* first, const int* edge, const int* frontier, int frontier_size,
                       int* next, int* next_size, int* level, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int node = i < frontier_size ? frontier[i] : -1;
  const int begin = node >= 0 ? first[node] : 0, end = node >= 0 ? first[node + 1] : 0;
  int most = end - begin;
  for (int mask = 16; mask; mask >>= 1) most = max(most, __shfl_xor_sync(~0u, most, mask));
  for (int k = 0; k < most; ++k) {
    int target = -1;
    if (begin + k < end) {
      target = edge[begin + k];
      if (atomicCAS(&level[target], -1, depth) != -1) target = -1;
    }
    const int slot = append(next_size, target >= 0);
    if (target >= 0) next[slot] = target;
  }
}

__global__ void relabel(const int* from, const int* to, int edges, int* label, int* changed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= edges) return;
  const int a = label[from[i]], b = label[to[i]], least = min(a, b);
  if (a != b) {
    atomicMin(&label[from[i]], least);
    atomicMin(&label[to[i]], least);
    *changed = 1;
  }
}

int main() {
  constexpr int kNodes = 3000;
  Random random(12);
  std::vector<std::vector<int>> neighbours(kNodes);
  auto join = [&](int a, int b) { neighbours[a].push_back(b), neighbours[b].push_back(a); };
  for (int i = 0; i < kNodes - 400; ++i) join(i, static_cast<int>(random.below(kNodes - 400)));
  for (int i = kNodes - 400; i + 1 < kNodes; ++i)
    if (i % 50 != 0) join(i, i + 1);  // chains apart from the rest
  std::vector<int> first{0}, edge, from;
  for (int i = 0; i < kNodes; ++i) {
    for (int n : neighbours[i]) edge.push_back(n), from.push_back(i);
    first.push_back(static_cast<int>(edge.size()));
  }
  std::vector<int> want(kNodes, -1);
  std::queue<int> queue;
  want[0] = 0;
  for (queue.push(0); !queue.empty(); queue.pop())
    for (int n : neighbours[queue.front()])
      if (want[n] < 0) want[n] = want[queue.front()] + 1, queue.push(n);

  DeviceArray<int> dfirst(first), dedge(edge), dfrom(from), a(kNodes), b(kNodes), size(1);
  std::vector<int> level(kNodes, -1);
  level[0] = 0;
  DeviceArray<int> dlevel(level);
  a.clear();  // node 0
  int *frontier = a.get(), *next = b.get(), count = 1;
  for (int depth = 1; count > 0; ++depth, std::swap(frontier, next)) {
    size.clear();
    expand<<<(count + 127) / 128, 128>>>(dfirst.get(), dedge.get(), frontier, count, next,
                                         size.get(), dlevel.get(), depth);
    CHECK(cudaMemcpy(&count, size.get(), sizeof count, cudaMemcpyDeviceToHost));
  }
  EXPECT(same(dlevel.host(), want));

  std::vector<int> label(kNodes);
  for (int i = 0; i < kNodes; ++i) label[i] = i;
  DeviceArray<int> dlabel(label), changed(1);
  int again = 1;
  while (again) {
    changed.clear();
    relabel<<<(int(edge.size()) + 255) / 256, 256>>>(dfrom.get(), dedge.get(), int(edge.size()),
                                                     dlabel.get(), changed.get());
    CHECK(cudaMemcpy(&again, changed.get(), sizeof again, cudaMemcpyDeviceToHost));
  }
  const auto labels = dlabel.host();
  for (int i = 0; i < kNodes; ++i) {
    EXPECT((labels[i] == labels[0]) == (want[i] >= 0));
    for (int n : neighbours[i]) EXPECT(labels[i] == labels[n]);
  }
  return passed("bfs");
}
