// SPDX-License-Identifier: Apache-2.0
// Small kernels of which each exercises one part of the device, after the descriptions that come
// with the published measurements: copies with a footprint, dependent and independent arithmetic,
// pointer chases.
#include <cuda_fp16.h>
#include <mma.h>

using Count = long long;

extern "C" __global__ void rest(Count times) {
  for (Count i = 0; i < times; ++i) __nanosleep(1000);
}

// All blocks go through the whole array together, `passes` times.
extern "C" __global__ void copy_together(const float* in, float* out, Count count, Count passes) {
  const size_t first = threadIdx.x + size_t{blockDim.x} * blockIdx.x;
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (Count pass = 0; pass < passes; ++pass)
    for (size_t i = first; i < static_cast<size_t>(count); i += step) out[i] = in[i];
}

// Each block goes through a part of its own, `passes` times; parts start `stride` elements apart.
extern "C" __global__ void copy_own_part(const float* in, float* out, int count, int stride,
                                         int passes) {
  const int first = blockIdx.x * stride;
  for (int pass = 0; pass < passes; ++pass)
    for (int i = first + threadIdx.x; i < first + count; i += blockDim.x) out[i] = in[i];
}

// `Ways` products that do not depend on each other, of which each depends on its former value.
template <typename T, int Ways>
__device__ void multiply(const T* factors, T* results, Count times) {
  const T factor = factors[threadIdx.x];
  T product[Ways];
#pragma unroll
  for (int way = 0; way < Ways; ++way) product[way] = T(1 + way);
  for (Count i = 0; i < times; ++i)
#pragma unroll
    for (int way = 0; way < Ways; ++way) product[way] = product[way] * factor;
  T sum = product[0];
#pragma unroll
  for (int way = 1; way < Ways; ++way) sum = sum + product[way];
  results[threadIdx.x] = sum;
}
#define GACER_MULTIPLY(name, type, ways)                                             \
  extern "C" __global__ void name(const type* factors, type* results, Count times) { \
    multiply<type, ways>(factors, results, times);                                   \
  }
GACER_MULTIPLY(multiply_float_4, float, 4)
GACER_MULTIPLY(multiply_double_1, double, 1)
GACER_MULTIPLY(multiply_double_2, double, 2)
GACER_MULTIPLY(multiply_double_3, double, 3)
GACER_MULTIPLY(multiply_double_4, double, 4)

// Fused multiply-adds, four independent chains.
template <typename T>
__device__ void fuse(T* data, Count times) {
  T a = data[0], b = data[1], c = data[2], d = data[3];
  const T x = data[4], y = data[5];
  for (Count i = 0; i < times; ++i) {
    a = a * x + y;
    b = b * x + y;
    c = c * x + y;
    d = d * x + y;
  }
  data[6 + threadIdx.x] = a + b + c + d;
}
extern "C" __global__ void fuse_float(float* data, Count times) {
  fuse(data, times);
}
extern "C" __global__ void fuse_double(double* data, Count times) {
  fuse(data, times);
}
extern "C" __global__ void fuse_half2(__half2* data, Count times) {
  __half2 a = data[0], b = data[1], c = data[2], d = data[3];
  const __half2 x = data[4], y = data[5];
  for (Count i = 0; i < times; ++i) {
    a = __hfma2(a, x, y);
    b = __hfma2(b, x, y);
    c = __hfma2(c, x, y);
    d = __hfma2(d, x, y);
  }
  data[6 + threadIdx.x] = __hadd2(__hadd2(a, b), __hadd2(c, d));
}

// Products of 16 x 16 tiles of halves, two independent sums.
extern "C" __global__ void multiply_tiles(const __half* tiles, float* results, Count times) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> sum, other;
  load_matrix_sync(a, tiles, 16);
  load_matrix_sync(b, tiles, 16);
  fill_fragment(sum, 0.0f);
  fill_fragment(other, 1.0f);
  for (Count i = 0; i < times; ++i) {
    mma_sync(sum, a, b, sum);
    mma_sync(other, a, b, other);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] += other.x[i];
  store_matrix_sync(results, sum, 16, mem_row_major);
}

// Each element holds the address of the next one.
extern "C" __global__ void chase(void** first, void** result, Count steps) {
  void** at = first;
  for (Count i = 0; i < steps; ++i) at = static_cast<void**>(*at);
  *result = at;
}

extern "C" __global__ void chase_shared(unsigned* result, Count steps) {
  __shared__ unsigned next[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) next[i] = (i + 32) % 256;
  __syncthreads();
  unsigned at = threadIdx.x;
  for (Count i = 0; i < steps; ++i) at = next[at];
  *result = at;
}

extern "C" __global__ void add_in_turn(unsigned* counter, unsigned* result, Count times) {
  unsigned step = 1;
  for (Count i = 0; i < times; ++i) step = atomicAdd(counter, step) | 1;
  *result = step;
}

// Each block reads `count` elements of four floats from its own start, `passes` times.
extern "C" __global__ void read_part(const float4* in, float* out, Count count, Count stride,
                                     Count passes) {
  float sum = 0;
  const float4* from = in + blockIdx.x * stride;
  for (Count pass = 0; pass < passes; ++pass)
#pragma unroll 4
    for (Count i = threadIdx.x; i < count; i += blockDim.x) {
      const float4 v = from[i];
      sum += v.x + v.y + v.z + v.w;
    }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void read_shared(float* out, Count passes) {
  __shared__ float4 data[1024];
  data[threadIdx.x] = make_float4(1, 2, 3, 4);
  __syncthreads();
  float sum = 0;
  for (Count pass = 0; pass < passes; ++pass)
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 v = data[(threadIdx.x + 32 * i + static_cast<int>(pass)) % 1024];
      sum += v.x + v.y + v.z + v.w;
    }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void nothing() {}

// ---- operators of networks, four floats a thread

extern "C" __global__ void add(const float4* a, const float4* b, float4* out, Count count) {
  const Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 x = a[i], y = b[i];
  out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

extern "C" __global__ void relu(const float4* a, float4* out, Count count) {
  const Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 x = a[i];
  out[i] = make_float4(fmaxf(x.x, 0), fmaxf(x.y, 0), fmaxf(x.z, 0), fmaxf(x.w, 0));
}

__device__ float sum_of_block(float value, float* partial) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0.0f;
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncthreads();
  return value;
}

// A row each block; rows are read again rather than kept.
extern "C" __global__ void softmax(const float* in, float* out, int width) {
  __shared__ float partial[32];
  const float* row = in + size_t{blockIdx.x} * width;
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += __expf(row[i]);
  const float scale = 1.0f / sum_of_block(sum, partial);
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    out[size_t{blockIdx.x} * width + i] = __expf(row[i]) * scale;
}

extern "C" __global__ void layer_norm(const float* in, float* out, int width) {
  __shared__ float partial[32];
  const float* row = in + size_t{blockIdx.x} * width;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  const float mean = sum_of_block(sum, partial) / width;
  const float scale = rsqrtf(sum_of_block(squares, partial) / width - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    out[size_t{blockIdx.x} * width + i] = (row[i] - mean) * scale;
}
