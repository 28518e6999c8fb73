// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of pairs in shared and global memory, radix sort by four bits, odd-even merge.
#include <algorithm>
#include <numeric>

#include "program.h"

constexpr int kShared = 512;

__device__ inline void exchange(unsigned& ka, unsigned& va, unsigned& kb, unsigned& vb, bool up) {
  if ((ka > kb) == up) {
    unsigned t = ka;
    ka = kb, kb = t;
    t = va, va = vb, vb = t;
  }
}

__global__ void bitonic_shared(unsigned* keys, unsigned* values) {
  __shared__ unsigned k[kShared], v[kShared];
  const int base = blockIdx.x * kShared, t = threadIdx.x;
  for (int i = t; i < kShared; i += blockDim.x) k[i] = keys[base + i], v[i] = values[base + i];
  for (int size = 2; size <= kShared; size <<= 1) {
    const bool up = size == kShared ? (blockIdx.x & 1) == 0 : ((t & size / 2) == 0);
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      const int pos = 2 * t - (t & (stride - 1));
      exchange(k[pos], v[pos], k[pos + stride], v[pos + stride], up);
    }
  }
  __syncthreads();
  for (int i = t; i < kShared; i += blockDim.x) keys[base + i] = k[i], values[base + i] = v[i];
}

__global__ void bitonic_global(unsigned* keys, unsigned* values, int size, int stride) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, pos = 2 * t - (t & (stride - 1));
  exchange(keys[pos], values[pos], keys[pos + stride], values[pos + stride], (t & size / 2) == 0);
}

__global__ void digit_counts(const unsigned* in, unsigned* counts, int n, int shift) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i] >> shift & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

__global__ void serial_scan(unsigned* counts, int n) {  // one warp, 32 at a time
  unsigned carry = 0;
  for (int base = 0; base < n; base += 32) {
    const int i = base + threadIdx.x;
    const unsigned value = i < n ? counts[i] : 0;
    unsigned sum = value;
    for (int d = 1; d < 32; d *= 2) {
      const unsigned below = __shfl_up_sync(~0u, sum, d);
      if (threadIdx.x >= d) sum += below;
    }
    if (i < n) counts[i] = carry + sum - value;
    carry += __shfl_sync(~0u, sum, 31);
  }
}

__global__ void scatter(const unsigned* in, unsigned* out, const unsigned* offsets, int n,
                        int shift) {
  __shared__ unsigned warp_counts[16][8];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31,
            warp = threadIdx.x / 32;
  const unsigned key = i < n ? in[i] : 0, digit = i < n ? key >> shift & 15 : 16;
  const unsigned peers = __match_any_sync(~0u, digit);
  const unsigned rank = __popc(peers & ((1u << lane) - 1));
  if (threadIdx.x < 128) warp_counts[threadIdx.x / 8][threadIdx.x % 8] = 0;
  __syncthreads();
  if (digit < 16 && rank == 0) warp_counts[digit][warp] = __popc(peers);
  __syncthreads();
  if (digit >= 16) return;
  unsigned before = 0;
  for (int w = 0; w < warp; ++w) before += warp_counts[digit][w];
  out[offsets[digit * gridDim.x + blockIdx.x] + before + rank] = key;
}

int main() {
  constexpr int kCount = 8192;
  Random random(9);
  std::vector<unsigned> keys(kCount), order(kCount);
  for (unsigned& key : keys) key = random.next();
  std::iota(order.begin(), order.end(), 0u);
  DeviceArray<unsigned> k(keys), v(order);
  bitonic_shared<<<kCount / kShared, kShared / 2>>>(k.get(), v.get());
  for (int size = 2 * kShared; size <= kCount; size <<= 1)
    for (int stride = size / 2; stride > 0; stride >>= 1)
      bitonic_global<<<kCount / 512, 256>>>(k.get(), v.get(), size, stride);
  CHECK_LAUNCH();
  std::vector<unsigned> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT(same(k.host(), sorted));
  const auto moved = v.host();
  for (int i = 0; i < kCount; ++i) EXPECT(keys[moved[i]] == sorted[i]);

  const int n = kCount - 77, blocks = (n + 255) / 256;
  DeviceArray<unsigned> a(keys), b(kCount), counts(16 * blocks);
  unsigned *from = a.get(), *to = b.get();
  for (int shift = 0; shift < 32; shift += 4, std::swap(from, to)) {
    digit_counts<<<blocks, 256>>>(from, counts.get(), n, shift);
    serial_scan<<<1, 32>>>(counts.get(), 16 * blocks);
    scatter<<<blocks, 256>>>(from, to, counts.get(), n, shift);
  }
  CHECK_LAUNCH();
  std::vector<unsigned> got(n), want(keys.begin(), keys.begin() + n);
  CHECK(cudaMemcpy(got.data(), from, n * sizeof(unsigned), cudaMemcpyDefault));
  std::sort(want.begin(), want.end());
  EXPECT(same(got, want));
  return passed("sort");
}
