// SPDX-License-Identifier: Apache-2.0
// One half of a program in two parts (-rdc=true): uses what parts_other.cu defines.
extern __device__ int counted;
__device__ float scaled(float x);
__device__ float (*chosen)(float) = scaled;
static __device__ float own() {
  return 1.0f;
}
extern "C" __global__ void use(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  data[i] = scaled(data[i]) + own();
  atomicAdd(&counted, 1);
}
extern "C" __global__ void use_pointer(float* data) {
  data[threadIdx.x] = chosen(data[threadIdx.x]);
}
