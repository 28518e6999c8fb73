// SPDX-License-Identifier: Apache-2.0
// Small device helpers shared by the operators.
#pragma once

#include "kernels/catalog.h"
#include "kernels/device/args.h"

// Declares a kernel with the launch bounds of its catalog row.
#define GACER_GLOBAL(symbol)                                                       \
  extern "C" __global__ void __launch_bounds__(gacer::kernels::block_size::symbol, \
                                               gacer::kernels::min_blocks_per_sm::symbol) symbol

namespace gacer::kernels {

__device__ __forceinline__ float gelu(float x) {
  return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

__device__ __forceinline__ float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

__device__ __forceinline__ float activate_value(float x, int activation) {
  switch (activation) {
    case kActRelu:
      return fmaxf(x, 0.0f);
    case kActRelu6:
      return fminf(fmaxf(x, 0.0f), 6.0f);
    case kActGelu:
      return gelu(x);
    case kActTanh:
      return tanhf(x);
    case kActSigmoid:
      return sigmoid(x);
    default:
      return x;
  }
}

__device__ __forceinline__ float warp_sum(float x) {
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

__device__ __forceinline__ float warp_max(float x) {
  for (int step = 16; step > 0; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

// Sum over a block of WARPS warps, given to every thread. `scratch` holds WARPS floats and is free
// again when the call returns.
template <int WARPS>
__device__ float block_sum(float x, float* scratch) {
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < WARPS; ++warp) total += scratch[warp];
  __syncthreads();
  return total;
}

template <int WARPS>
__device__ float block_max(float x, float* scratch) {
  x = warp_max(x);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  float best = scratch[0];
  for (int warp = 1; warp < WARPS; ++warp) best = fmaxf(best, scratch[warp]);
  __syncthreads();
  return best;
}

__device__ __forceinline__ int fast_divide(int x, FastDivisor by) {
  return static_cast<int>((__umulhi(x, by.multiplier) + x) >> by.shift);
}

__device__ __forceinline__ long long global_index() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace gacer::kernels
