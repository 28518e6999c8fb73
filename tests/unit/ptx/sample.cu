// SPDX-License-Identifier: Apache-2.0
// Source of the printer test's PTX: something of everything that a module can hold.
#include <cuda_fp16.h>
#include <cstdio>

__constant__ float table[8] = {1, 2, 3};
__device__ int counter;
__device__ int* pointer = &counter;
__device__ double grid[2][3] = {{1, 2, 3}, {4}};

__device__ __noinline__ float recurse(float x, int depth) {
  return depth <= 1 ? x : recurse(x * 1.5f, depth - 1) + sqrtf(x);
}
using Unary = float (*)(float);
__device__ float twice(float x) {
  return 2 * x;
}
__device__ float half_of(float x) {
  return 0.5f * x;
}
__device__ Unary unaries[2] = {twice, half_of};

struct Big {
  float x;
  int y[5];
};

extern "C" __global__ void __launch_bounds__(256, 2) everything(Big big, float* out, int n) {
  extern __shared__ float dynamic[];
  __shared__ int fixed[64];
  int local[20];
  for (int i = 0; i < 20; ++i) local[i] = big.y[i % 5] * i;
  fixed[threadIdx.x % 64] = local[n % 20];
  dynamic[threadIdx.x] = table[n % 8] + static_cast<float>(grid[1][n % 3]);
  __syncthreads();
  float v = recurse(dynamic[threadIdx.x ^ 1], n) + unaries[n % 2](big.x);
  v += __shfl_xor_sync(~0u, v, 4);
  atomicAdd(pointer, fixed[n % 64]);
  switch (n) {
    case 0:
      out[0] = 1;
      break;
    case 1:
      out[1] = v;
      break;
    case 2:
      out[2] = v * 2;
      break;
    case 3:
      out[3] = v + 2;
      break;
    case 4:
      out[7] = v - 2;
      break;
    case 5:
      out[5] = expf(v);
      break;
    default:
      printf("%d %f\n", n, static_cast<double>(v));
  }
}

extern "C" __global__ void halves(const __half2* a, __half2* b) {
  b[threadIdx.x] = __hfma2(a[threadIdx.x], a[threadIdx.x], b[threadIdx.x]);
}
