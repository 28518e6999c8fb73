// SPDX-License-Identifier: Apache-2.0
// Kernels of common patterns; kernels_test.cpp has a reference for each.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#define KERNEL extern "C" __global__ void

KERNEL tiled_gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[16][16], bs[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < k; at += 16) {
    const int ak = at + threadIdx.x, bk = at + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && ak < k ? a[row * k + ak] : 0;
    bs[threadIdx.y][threadIdx.x] = col < n && bk < k ? b[bk * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

// Sum of a whole block: shuffles within warps, shared memory between them.
__device__ float block_sum(float v) {
  __shared__ float partial[32];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(~0u, v, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
  if (threadIdx.x < 32)
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
  if (threadIdx.x == 0) partial[0] = v;
  __syncthreads();
  v = partial[0];
  __syncthreads();
  return v;
}

KERNEL reduce(const float* in, float* out, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += in[i];
  v = block_sum(v);
  if (threadIdx.x == 0) atomicAdd(out, v);
}

KERNEL softmax(const float* in, float* out, int n) {
  extern __shared__ float row[];
  float most = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    most = fmaxf(most, row[i] = in[blockIdx.x * n + i]);
  for (int offset = 16; offset > 0; offset /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
  __shared__ float tops[32];
  if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = most;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) most = fmaxf(most, tops[w]);
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i] = expf(row[i] - most);
  sum = block_sum(sum);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = row[i] / sum;
}

KERNEL layer_norm_gelu(const float* in, float* out, int n) {
  const float* x = in + blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  const float mean = block_sum(sum) / n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(block_sum(squares) / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float v = (x[i] - mean) * scale;
    out[blockIdx.x * n + i] = 0.5f * v * (1 + erff(v * 0.70710678f));
  }
}

KERNEL histogram(const uint8_t* in, int* bins, int n) {
  __shared__ int local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i] != 0) atomicAdd(&bins[i], local[i]);
}

KERNEL half2_axpy(__half2 a, const __half2* x, __half2* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(a, x[i], y[i]);
}

KERNEL bf16_scale(const __nv_bfloat16* x, __nv_bfloat16* y, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(__bfloat162float(x[i]) * factor);
}

KERNEL double_math(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = pow(fabs(x[i]) + 0.5, 1.25) / (1 + exp(-x[i])) + sin(x[i]) * sqrt(fabs(x[i]));
}

KERNEL float_math(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tanhf(x[i]) + powf(fabsf(x[i]) + 0.1f, 1.7f) + logf(fabsf(x[i]) + 1) +
           sinf(x[i] * 1000) + cosf(x[i]) + atan2f(x[i], 0.3f) + cbrtf(x[i]);
}

KERNEL integer_math(const int64_t* a, const int64_t* b, int64_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int64_t x = a[i], y = b[i];
  out[i] = x / y + x % 1000003 + (static_cast<uint64_t>(x) / 7) + __popcll(x) + __clzll(y) +
           static_cast<int64_t>(static_cast<__int128>(x) * y >> 64);
}

KERNEL transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (x < columns && blockIdx.y * 32 + j < rows)
      tile[j][threadIdx.x] = in[(blockIdx.y * 32 + j) * columns + x];
  __syncthreads();
  const int y = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (y < rows && blockIdx.x * 32 + j < columns)
      out[(blockIdx.x * 32 + j) * rows + y] = tile[threadIdx.x][j];
}

// Inclusive scan of a warp's values, with cooperative groups.
KERNEL scan_tiles(const int* in, int* out) {
  namespace cg = cooperative_groups;
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int v = in[threadIdx.x];
  for (int offset = 1; offset < 16; offset *= 2) {
    const int other = tile.shfl_up(v, offset);
    if (tile.thread_rank() >= offset) v += other;
  }
  out[threadIdx.x] = v;
}

struct Options {
  float scale;
  int offsets[4];
  bool negate;
};
__device__ __noinline__ float apply(const Options& o, float x) {
  return o.negate ? -x * o.scale : x * o.scale;
}
__device__ float add_one(float x) {
  return x + 1;
}
__device__ float square(float x) {
  return x * x;
}
using Unary = float (*)(float);
__device__ Unary unaries[] = {add_one, square};

KERNEL structures(Options o, const float* in, float* out, int n) {
  const int i = threadIdx.x;
  int order[8];
  for (int k = 0; k < 8; ++k) order[(k * 3 + i) % 8] = k;  // a local array with run-time indices
  if (i < n) out[i] = unaries[i % 2](apply(o, in[(i + o.offsets[i % 4] + order[i % 8]) % n]));
}

// Gathers rows; indices of different width, a loop of different length in each thread.
KERNEL gather(const float* table, const int64_t* ids, float* out, int width) {
  const int64_t id = ids[blockIdx.x];
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    float v = id < 0 ? 0 : table[id * width + i];
    for (int k = 0; k < i % 5; ++k) v = v * 0.5f + 1;
    out[static_cast<int64_t>(blockIdx.x) * width + i] = v;
  }
}
