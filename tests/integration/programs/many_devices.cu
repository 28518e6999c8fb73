// SPDX-License-Identifier: Apache-2.0
// Two devices: work on each, peer access, copies between them, threads with devices of their own.
#include <thread>

#include "program.h"

__global__ void fill(int* out, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value + i;
}
__global__ void add_from(const int* other, int* own, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) own[i] += other[i];
}

int main() {
  constexpr int kCount = 1000;
  constexpr size_t kBytes = kCount * sizeof(int);
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  EXPECT(devices == 2);
  int* data[2];
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaMalloc(&data[d], kBytes));
    fill<<<8, 128>>>(data[d], d * 10000, kCount);
    CHECK(cudaGetLastError());
  }
  int can = 0;
  CHECK(cudaDeviceCanAccessPeer(&can, 1, 0));
  EXPECT(can == 1);
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceEnablePeerAccess(0, 0));
  EXPECT(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
  (void)cudaGetLastError();
  add_from<<<8, 128>>>(data[0], data[1], kCount);
  CHECK_LAUNCH();
  std::vector<int> host(kCount);
  CHECK(cudaMemcpy(host.data(), data[1], kBytes, cudaMemcpyDefault));
  for (int i = 0; i < kCount; ++i) EXPECT(host[i] == 10000 + 2 * i);
  CHECK(cudaMemcpyPeer(data[0], 0, data[1], 1, kBytes));
  CHECK(cudaMemcpy(host.data(), data[0], kBytes, cudaMemcpyDefault));
  EXPECT(host[5] == 10010);

  // The current device belongs to the thread.
  std::vector<std::thread> threads;
  int last[2] = {};
  for (int d = 0; d < 2; ++d)
    threads.emplace_back([&, d] {
      int current = -1;
      CHECK(cudaGetDevice(&current));
      EXPECT(current == 0);
      CHECK(cudaSetDevice(d));
      cudaStream_t stream;
      CHECK(cudaStreamCreate(&stream));
      for (int i = 0; i < 5; ++i) fill<<<8, 128, 0, stream>>>(data[d], 100 * d + i, kCount);
      CHECK(cudaMemcpyAsync(&last[d], data[d] + kCount - 1, sizeof(int), cudaMemcpyDeviceToHost,
                            stream));
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaStreamDestroy(stream));
    });
  for (auto& thread : threads) thread.join();
  EXPECT(last[0] == 4 + kCount - 1 && last[1] == 104 + kCount - 1);
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaFree(data[d]));
  }
  return passed("many_devices");
}
