// SPDX-License-Identifier: Apache-2.0
// Vector addition in chunks over four streams with pinned memory.
#include "program.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 100003, kStreams = 4;
  float *a, *b, *c;
  CHECK(cudaMallocHost(&a, kCount * sizeof(float)));
  CHECK(cudaMallocHost(&b, kCount * sizeof(float)));
  CHECK(cudaHostAlloc(&c, kCount * sizeof(float), cudaHostAllocDefault));
  Random random(7);
  for (int i = 0; i < kCount; ++i) a[i] = random.unit(), b[i] = random.unit(), c[i] = -1;
  DeviceArray<float> da(kCount), db(kCount), dc(kCount);
  cudaStream_t streams[kStreams];
  for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const int chunk = (kCount + kStreams - 1) / kStreams;
  for (int s = 0; s < kStreams; ++s) {
    const int first = s * chunk, count = std::min(chunk, kCount - first);
    const size_t bytes = count * sizeof(float);
    CHECK(cudaMemcpyAsync(da.get() + first, a + first, bytes, cudaMemcpyHostToDevice, streams[s]));
    CHECK(cudaMemcpyAsync(db.get() + first, b + first, bytes, cudaMemcpyHostToDevice, streams[s]));
    add<<<32, 256, 0, streams[s]>>>(da.get() + first, db.get() + first, dc.get() + first, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(c + first, dc.get() + first, bytes, cudaMemcpyDeviceToHost, streams[s]));
  }
  for (auto& stream : streams) {
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  }
  for (int i = 0; i < kCount; ++i) EXPECT(c[i] == a[i] + b[i]);
  CHECK(cudaFreeHost(a));
  CHECK(cudaFreeHost(b));
  CHECK(cudaFreeHost(c));
  return passed("vector_add");
}
