// SPDX-License-Identifier: Apache-2.0
// Mapped host memory, registered memory, pointer attributes, and a flag that host and device share.
#include <atomic>
#include <thread>

#include "program.h"

__global__ void sum_mapped(const int* in, long long* out, int n) {
  long long sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(out), static_cast<unsigned long long>(sum));
  __threadfence_system();
}

int main() {
  constexpr int kCount = 4096;
  int *mapped, *device_view;
  CHECK(cudaHostAlloc(&mapped, kCount * sizeof(int), cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&device_view, mapped, 0));
  std::vector<int> plain(kCount);
  Random random(36);
  long long want = 0, want_plain = 0;
  for (int i = 0; i < kCount; ++i) {
    want += mapped[i] = int(random.below(100)) - 40;
    want_plain += plain[i] = int(random.below(1000));
  }
  long long* result;
  CHECK(cudaMallocHost(&result, 2 * sizeof *result));
  result[0] = result[1] = 0;
  sum_mapped<<<1, 128>>>(device_view, result, kCount);
  CHECK_LAUNCH();
  EXPECT(result[0] == want);

  CHECK(cudaHostRegister(plain.data(), kCount * sizeof(int), cudaHostRegisterMapped));
  int* registered;
  CHECK(cudaHostGetDevicePointer(&registered, plain.data(), 0));
  sum_mapped<<<1, 128>>>(registered, result + 1, kCount);
  CHECK_LAUNCH();
  EXPECT(result[1] == want_plain);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, mapped));
  EXPECT(attributes.type == cudaMemoryTypeHost && attributes.devicePointer == device_view);
  int on_stack = 0;
  CHECK(cudaPointerGetAttributes(&attributes, &on_stack));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  DeviceArray<int> device(4);
  CHECK(cudaPointerGetAttributes(&attributes, device.get() + 1));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
  CHECK(cudaHostUnregister(plain.data()));
  EXPECT(cudaHostUnregister(plain.data()) == cudaErrorHostMemoryNotRegistered);
  EXPECT(cudaGetLastError() == cudaErrorHostMemoryNotRegistered);
  CHECK(cudaFreeHost(mapped));
  CHECK(cudaFreeHost(result));
  return passed("zero_copy");
}
