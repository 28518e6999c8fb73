// SPDX-License-Identifier: Apache-2.0
// Sums in four ways: shared-memory tree, warp shuffles, one atomic a block, last block adds up.
#include "program.h"

__global__ void tree(const int* in, int* out, int n) {
  extern __shared__ int part[];
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  part[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__inline__ __device__ double warp_sum(double value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  return value;
}

__global__ void shuffles(const double* in, double* out, int n) {
  __shared__ double part[32];
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    sum = warp_sum(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__device__ unsigned int finished = 0;

template <int kThreads>
__global__ void last_block(const unsigned* in, unsigned long long* partial, unsigned long long* out,
                           int n) {
  __shared__ unsigned long long part[kThreads];
  __shared__ bool last;
  unsigned long long sum = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) sum += in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
#pragma unroll
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    unsigned long long total = 0;
    for (int i = 0; i < gridDim.x; ++i)
      total += const_cast<volatile unsigned long long*>(partial)[i];
    *out = total;
  }
}

__global__ void extremes(const int* in, int n, int* low, int* high) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? in[i] : in[0];
  const int least = __reduce_min_sync(~0u, value), most = __reduce_max_sync(~0u, value);
  if (threadIdx.x % 32 == 0) {
    atomicMin(low, least);
    atomicMax(high, most);
  }
}

int main() {
  constexpr int kCount = 200001, kBlocks = 48, kThreads = 256;
  Random random(3);
  std::vector<int> ints(kCount);
  std::vector<double> doubles(kCount);
  std::vector<unsigned> words(kCount);
  long long int_sum = 0;
  double double_sum = 0;
  unsigned long long word_sum = 0;
  int low = INT32_MAX, high = INT32_MIN;
  for (int i = 0; i < kCount; ++i) {
    ints[i] = static_cast<int>(random.below(2001)) - 1000;
    doubles[i] = random.unit();
    words[i] = random.next();
    int_sum += ints[i], double_sum += doubles[i], word_sum += words[i];
    low = std::min(low, ints[i]), high = std::max(high, ints[i]);
  }
  DeviceArray<int> in(ints), out(kBlocks);
  tree<<<kBlocks, kThreads, kThreads * sizeof(int)>>>(in.get(), out.get(), kCount);
  CHECK_LAUNCH();
  long long total = 0;
  for (int part : out.host()) total += part;
  EXPECT(total == int_sum);

  DeviceArray<double> din(doubles), dsum(1);
  dsum.clear();
  shuffles<<<kBlocks, kThreads>>>(din.get(), dsum.get(), kCount);
  CHECK_LAUNCH();
  EXPECT(std::fabs(dsum.host()[0] - double_sum) < 1e-7 * double_sum);

  DeviceArray<unsigned> win(words);
  DeviceArray<unsigned long long> partial(kBlocks), wsum(1);
  for (int round = 0; round < 2; ++round) {  // the counter wraps by itself
    wsum.clear();
    last_block<kThreads><<<kBlocks, kThreads>>>(win.get(), partial.get(), wsum.get(), kCount);
    CHECK_LAUNCH();
    EXPECT(wsum.host()[0] == word_sum);
  }
  DeviceArray<int> ends(std::vector<int>{INT32_MAX, INT32_MIN});
  extremes<<<(kCount + 255) / 256, 256>>>(in.get(), kCount, ends.get(), ends.get() + 1);
  CHECK_LAUNCH();
  EXPECT(ends.host()[0] == low && ends.host()[1] == high);
  return passed("reduction");
}
