// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation: reuse in a stream, a pool of one's own, trimming, limits.
#include "program.h"

__global__ void fill(int* out, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}

int main() {
  constexpr int kCount = 1 << 16;
  constexpr size_t kBytes = kCount * sizeof(int);
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  EXPECT(supported == 1);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t keep = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  void* last = nullptr;
  int reused = 0;
  std::vector<int> host(kCount);
  for (int i = 0; i < 10; ++i) {
    int* data;
    CHECK(cudaMallocAsync(&data, kBytes, stream));
    reused += data == last;
    last = data;
    fill<<<kCount / 256, 256, 0, stream>>>(data, i, kCount);
    CHECK(cudaMemcpyAsync(host.data(), data, kBytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(same(host, std::vector<int>(kCount, i)));
  }
  EXPECT(reused == 9);  // same stream, same size
  uint64_t used = 1, reserved = 0;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  EXPECT(used == 0 && reserved >= kBytes);
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  EXPECT(reserved == 0);

  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  props.maxSize = 64 << 20;
  cudaMemPool_t own;
  CHECK(cudaMemPoolCreate(&own, &props));
  int *a, *b;
  CHECK(cudaMallocFromPoolAsync(&a, kBytes, own, stream));
  CHECK(cudaMallocFromPoolAsync(&b, kBytes, own, stream));
  EXPECT(a != b);
  fill<<<kCount / 256, 256, 0, stream>>>(a, 1, kCount);
  fill<<<kCount / 256, 256, 0, stream>>>(b, 2, kCount);
  int one = 0, two = 0;
  CHECK(cudaMemcpyAsync(&one, a + kCount - 1, sizeof one, cudaMemcpyDefault, stream));
  CHECK(cudaMemcpyAsync(&two, b, sizeof two, cudaMemcpyDefault, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(one == 1 && two == 2);
  void* large = nullptr;
  EXPECT(cudaMallocFromPoolAsync(&large, 128 << 20, own, stream) == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaSuccess);
  CHECK(cudaFreeAsync(a, stream));
  CHECK(cudaFreeAsync(b, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolDestroy(own));
  CHECK(cudaStreamDestroy(stream));
  return passed("pools");
}
