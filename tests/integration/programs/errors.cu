// SPDX-License-Identifier: Apache-2.0
// What goes wrong is told as documented: bad launches, sticky faults, assertions, and reset.
#include <cassert>
#include <cstring>

#include "program.h"

__global__ void nothing() {}
__global__ void write_at(int* p, long long index) {
  p[index] = 1;
}
__global__ void misaligned(char* p) {
  *reinterpret_cast<int*>(p + 1) = 1;
}
__global__ void must_be_small(int value) {
  assert(value < 10);
}
__global__ void stop() {
  __trap();
}

// Each fault ends the context: the reset makes a new one.
void expect_sticky(cudaError_t want) {
  EXPECT(cudaDeviceSynchronize() == want);
  void* memory;
  EXPECT(cudaMalloc(&memory, 4) == want);
  EXPECT(cudaGetLastError() == want);
  EXPECT(cudaDeviceReset() == cudaSuccess || cudaGetLastError() == want);
  (void)cudaGetLastError();
}

int main(int argc, char** argv) {
  const char* fault = argc > 1 ? argv[1] : "none";
  nothing<<<1, 2048>>>();
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaSuccess);
  nothing<<<1, 1, 1 << 20>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  void* memory = nullptr;
  EXPECT(cudaMalloc(&memory, size_t{1} << 50) == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
  EXPECT(cudaSetDevice(99) == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaMemcpy(nullptr, nullptr, 16, static_cast<cudaMemcpyKind>(77)) ==
         cudaErrorInvalidMemcpyDirection);
  (void)cudaGetLastError();
  EXPECT(std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
  EXPECT(std::strlen(cudaGetErrorString(cudaErrorIllegalAddress)) > 10);
  nothing<<<1, 1>>>();
  CHECK_LAUNCH();  // none of these is sticky

  int* data;
  CHECK(cudaMalloc(&data, 1024));
  if (std::strcmp(fault, "address") == 0) {
    write_at<<<1, 1>>>(data, 1ll << 40);
    expect_sticky(cudaErrorIllegalAddress);
  } else if (std::strcmp(fault, "alignment") == 0) {
    misaligned<<<1, 1>>>(reinterpret_cast<char*>(data));
    expect_sticky(cudaErrorMisalignedAddress);
  } else if (std::strcmp(fault, "assert") == 0) {
    must_be_small<<<1, 1>>>(11);
    expect_sticky(cudaErrorAssert);
  } else if (std::strcmp(fault, "trap") == 0) {
    stop<<<1, 1>>>();
    expect_sticky(cudaErrorLaunchFailure);
  } else {
    must_be_small<<<1, 1>>>(9);
    CHECK_LAUNCH();
    CHECK(cudaFree(data));
  }
  return passed("errors");
}
