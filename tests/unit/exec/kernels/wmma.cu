// SPDX-License-Identifier: Apache-2.0
// nvcuda::wmma in all its shapes, types and layouts, through global and shared memory.
#include <mma.h>

#include <cstdint>

namespace wmma = nvcuda::wmma;
using wmma::col_major;
using wmma::row_major;

template <int M, int N, int K, typename T, typename A, typename Sum, typename LayoutA,
          typename LayoutB>
__device__ void product(const A* a, const A* b, const Sum* c, Sum* d, int lda, int ldb,
                        bool c_by_column) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
  const auto layout = c_by_column ? wmma::mem_col_major : wmma::mem_row_major;
  const int ldc = c_by_column ? M : N;
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, layout);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, ldc, layout);
}

#define KERNEL extern "C" __global__ void
#define LAYOUTS(name, M, N, K, T, A, Sum)                                       \
  KERNEL name##_rr(const A* a, const A* b, const Sum* c, Sum* d) {              \
    product<M, N, K, T, A, Sum, row_major, row_major>(a, b, c, d, K, N, false); \
  }                                                                             \
  KERNEL name##_rc(const A* a, const A* b, const Sum* c, Sum* d) {              \
    product<M, N, K, T, A, Sum, row_major, col_major>(a, b, c, d, K, K, true);  \
  }                                                                             \
  KERNEL name##_cr(const A* a, const A* b, const Sum* c, Sum* d) {              \
    product<M, N, K, T, A, Sum, col_major, row_major>(a, b, c, d, M, N, true);  \
  }                                                                             \
  KERNEL name##_cc(const A* a, const A* b, const Sum* c, Sum* d) {              \
    product<M, N, K, T, A, Sum, col_major, col_major>(a, b, c, d, M, K, false); \
  }
#define SHAPES(name, T, A, Sum)                   \
  LAYOUTS(name##_16x16x16, 16, 16, 16, T, A, Sum) \
  LAYOUTS(name##_8x32x16, 8, 32, 16, T, A, Sum)   \
  LAYOUTS(name##_32x8x16, 32, 8, 16, T, A, Sum)

SHAPES(f16_f32, half, half, float)
SHAPES(f16_f16, half, half, half)
SHAPES(bf16_f32, __nv_bfloat16, __nv_bfloat16, float)
SHAPES(s8_s32, signed char, signed char, int)
SHAPES(u8_s32, unsigned char, unsigned char, int)
LAYOUTS(tf32_f32_16x16x8, 16, 16, 8, wmma::precision::tf32, float, float)
LAYOUTS(f64_f64_8x8x4, 8, 8, 4, double, double, double)

// Packed elements: A by rows, B by columns.
template <int K, typename T, typename Word>
__device__ void packed_product(const Word* a, const Word* b, const int* c, int* d, bool exclusive) {
  wmma::fragment<wmma::matrix_a, 8, 8, K, T, row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, K, T, col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, K, int> fc;
  wmma::load_matrix_sync(fa, a, K);
  wmma::load_matrix_sync(fb, b, K);
  wmma::load_matrix_sync(fc, c, 8, wmma::mem_row_major);
  if constexpr (K == 128) {
    wmma::bmma_sync(
        fc, fa, fb, fc,
        exclusive ? wmma::experimental::bmmaBitOpXOR : wmma::experimental::bmmaBitOpAND);
  } else {
    wmma::mma_sync(fc, fa, fb, fc, exclusive);
  }
  wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}
using namespace wmma::experimental::precision;
KERNEL packed_s4(const int* a, const int* b, const int* c, int* d) {
  packed_product<32, s4>(a, b, c, d, true);
}
KERNEL packed_u4(const unsigned* a, const unsigned* b, const int* c, int* d) {
  packed_product<32, u4>(a, b, c, d, false);
}
KERNEL packed_xor(const unsigned* a, const unsigned* b, const int* c, int* d) {
  packed_product<128, b1>(a, b, c, d, true);
}
KERNEL packed_and(const unsigned* a, const unsigned* b, const int* c, int* d) {
  packed_product<128, b1>(a, b, c, d, false);
}

// A tiled product of 64x64 matrices of halves: shared memory, fragments that stay in registers,
// element-wise work on them.
KERNEL tiled(const half* a, const half* b, float* d, float scale) {
  constexpr int kSize = 64;
  __shared__ __align__(32) half as[16 * 16], bs[16 * 16];
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < kSize; k += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) {
      as[i] = a[(row + i / 16) * kSize + k + i % 16];
      bs[i] = b[(k + i / 16) * kSize + column + i % 16];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, row_major> fb;
    wmma::load_matrix_sync(fa, as, 16);
    wmma::load_matrix_sync(fb, bs, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncwarp();
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= scale;
  wmma::store_matrix_sync(d + row * kSize + column, sum, kSize, wmma::mem_row_major);
}
