// SPDX-License-Identifier: Apache-2.0
// A shared library with a kernel, loaded and unloaded by process_test; its helper is compiled apart
// (-rdc=true).
#include <cuda_runtime.h>

extern __device__ int twice(int value);

__global__ void plugin_fill(int* out) {
  *out = twice(21);
}

extern "C" const void* plugin_kernel() {
  return reinterpret_cast<const void*>(plugin_fill);
}

extern "C" int plugin_run() {
  int *out = nullptr, host = -1;
  if (cudaMalloc(&out, 4) != cudaSuccess) return -1;
  plugin_fill<<<1, 1>>>(out);
  cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost);
  cudaFree(out);
  return cudaGetLastError() == cudaSuccess ? host : -2;
}
