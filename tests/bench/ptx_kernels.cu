// SPDX-License-Identifier: Apache-2.0
// What scripts/bench.sh ptx runs: one kernel for each kind of code whose speed matters.
#include <cstdint>

extern "C" __global__ void fma_loop(float* out, int rounds, float factor) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = static_cast<float>(threadIdx.x + i);
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = fmaf(a[i], factor, 1.0f);
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void fma64_loop(double* out, int rounds, double factor) {
  double a[4];
  for (int i = 0; i < 4; ++i) a[i] = threadIdx.x + i;
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = fma(a[i], factor, 1.0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = a[0] + a[1] + a[2] + a[3];
}

// Rotations, products and comparisons of a hash.
extern "C" __global__ void integer_loop(uint32_t* out, int rounds, uint32_t seed) {
  uint32_t x = threadIdx.x * 2654435761u + seed, y = x ^ 0x9e3779b9u;
  for (int r = 0; r < rounds; ++r) {
    x = x * 0xcc9e2d51u + y;
    y ^= (x << 13) | (x >> 19);
    x += min(y, x ^ static_cast<uint32_t>(r));
    y = y * 5 + 0xe6546b64u;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x ^ y;
}

extern "C" __global__ void copy_stream(float* __restrict__ out, const float* __restrict__ in,
                                       int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[i];
}

extern "C" __global__ void copy_vector(float4* __restrict__ out, const float4* __restrict__ in,
                                       int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[i];
}

extern "C" __global__ void gather(float* __restrict__ out, const float* __restrict__ in,
                                  const uint32_t* __restrict__ index, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[index[i]] + in[index[i] ^ 1u];
}

extern "C" __global__ void histogram(uint32_t* __restrict__ bins, const uint32_t* __restrict__ in,
                                     int n) {
  __shared__ uint32_t own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[in[i] & 255u], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// 32 x 32 tiles in shared memory, one result a thread.
extern "C" __global__ void tile_matmul(float* __restrict__ c, const float* __restrict__ a,
                                       const float* __restrict__ b, int n) {
  __shared__ float as[16][16], bs[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// Steps of the Collatz sequence: lanes leave the loop at different times and take both ways in it.
extern "C" __global__ void divergent(uint32_t* out, int limit) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t steps = 0;
  for (uint64_t x = thread + 1; x != 1 && steps < static_cast<uint32_t>(limit); ++steps)
    x = (x & 1u) != 0 ? 3 * x + 1 : x >> 1;
  out[thread] = steps;
}
