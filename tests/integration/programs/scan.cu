// SPDX-License-Identifier: Apache-2.0
// Prefix sums: work-efficient scan of blocks with a second level, and one pass with look-back.
#include "program.h"

constexpr int kThreads = 256;

__global__ void scan_blocks(const int* in, int* out, int* sums, int n) {
  __shared__ int tree[2 * kThreads];
  const int t = threadIdx.x, base = 2 * kThreads * blockIdx.x;
  tree[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
  tree[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
  int offset = 1;
  for (int d = kThreads; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
  }
  if (t == 0) {
    if (sums != nullptr) sums[blockIdx.x] = tree[2 * kThreads - 1];
    tree[2 * kThreads - 1] = 0;
  }
  for (int d = 1; d < 2 * kThreads; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      const int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
      const int kept = tree[left];
      tree[left] = tree[right];
      tree[right] += kept;
    }
  }
  __syncthreads();
  if (base + 2 * t < n) out[base + 2 * t] = tree[2 * t];
  if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = tree[2 * t + 1];
}

__global__ void add_sums(int* out, const int* sums, int n) {
  const int i = blockIdx.x * 2 * kThreads + threadIdx.x;
  if (i < n) out[i] += sums[blockIdx.x];
  if (i + kThreads < n) out[i + kThreads] += sums[blockIdx.x];
}

// State of a tile: flag in the upper half (1: own sum, 2: inclusive prefix), value below.
__device__ unsigned next_tile;

__global__ void look_back(const unsigned* in, unsigned* out, unsigned long long* state, int n) {
  __shared__ unsigned tile, prefix, warp_sums[kThreads / 32];
  if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
  __syncthreads();
  const int i = tile * kThreads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned value = i < n ? in[i] : 0, sum = value;
  for (int d = 1; d < 32; d *= 2) {
    const unsigned below = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += below;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned total = 0;
    for (unsigned& part : warp_sums) {
      const unsigned kept = part;
      part = total;
      total += kept;
    }
    unsigned before = 0;
    volatile unsigned long long* words = state;
    if (tile > 0) {
      words[tile] = 1ull << 32 | total;
      __threadfence();
      for (int k = static_cast<int>(tile) - 1; k >= 0;) {
        const unsigned long long word = words[k];
        if (word >> 32 == 0) continue;
        before += static_cast<unsigned>(word);
        if (word >> 32 == 2) break;
        --k;
      }
    }
    words[tile] = 2ull << 32 | (before + total);
    __threadfence();
    prefix = before;
  }
  __syncthreads();
  if (i < n) out[i] = prefix + warp_sums[warp] + sum;
}

int main() {
  constexpr int kCount = 100000, kBlocks = (kCount + 2 * kThreads - 1) / (2 * kThreads);
  static_assert(kBlocks <= 2 * kThreads);
  Random random(11);
  std::vector<int> values(kCount), exclusive(kCount);
  int sum = 0;
  for (int i = 0; i < kCount; ++i) {
    values[i] = static_cast<int>(random.below(100)) - 50;
    exclusive[i] = sum;
    sum += values[i];
  }
  DeviceArray<int> in(values), out(kCount), sums(kBlocks);
  scan_blocks<<<kBlocks, kThreads>>>(in.get(), out.get(), sums.get(), kCount);
  scan_blocks<<<1, kThreads>>>(sums.get(), sums.get(), nullptr, kBlocks);
  add_sums<<<kBlocks, kThreads>>>(out.get(), sums.get(), kCount);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), exclusive));

  const int tiles = (kCount + kThreads - 1) / kThreads;
  std::vector<unsigned> words(kCount), inclusive(kCount);
  unsigned total = 0;
  for (int i = 0; i < kCount; ++i) inclusive[i] = total += words[i] = random.below(1000);
  DeviceArray<unsigned> win(words), wout(kCount);
  DeviceArray<unsigned long long> state(tiles);
  state.clear();
  const unsigned zero = 0;
  CHECK(cudaMemcpyToSymbol(next_tile, &zero, sizeof zero));
  look_back<<<tiles, kThreads>>>(win.get(), wout.get(), state.get(), kCount);
  CHECK_LAUNCH();
  EXPECT(same(wout.host(), inclusive));
  return passed("scan");
}
