// SPDX-License-Identifier: Apache-2.0
// Matrix products. Grid: x over column tiles, y over row tiles, z over batches.
#include "kernels/device/tile.cuh"

namespace gacer::kernels {

__device__ __forceinline__ void write_value(const GemmArgs& g, long long offset, int row, int col,
                                            float sum) {
  if (row >= g.m || col >= g.n) return;
  const long long at = offset + static_cast<long long>(row) * g.ldc + col;
  const float bias = g.bias != nullptr ? g.bias[col] : 0.0f;
  const float residual = g.residual != nullptr ? g.residual[at] : 0.0f;
  g.c[at] = activate_value(fmaf(g.alpha, sum, bias) + residual, g.activation);
}

template <class Tile, bool kTransposedB>
__device__ __forceinline__ void gemm(const GemmArgs& g) {
  __shared__ __align__(16) typename Tile::Shared shared;
  const int outer = blockIdx.z / g.inner_count, inner = blockIdx.z % g.inner_count;
  const int row0 = blockIdx.y * Tile::kM, col0 = blockIdx.x * Tile::kN;
  const float* a = g.a + outer * g.a_outer + inner * g.a_inner;
  const float* b = g.b + outer * g.b_outer + inner * g.b_inner;
  const bool vector_a = g.vector_flags & kVectorA, vector_b = g.vector_flags & kVectorB;

  float acc[Tile::kTm][Tile::kTn] = {};
  RowPanel<Tile::kM, Tile::kK, Tile::kThreads> panel_a{
      a + static_cast<long long>(row0) * g.lda, g.lda, g.m - row0, g.k, vector_a, {}};
  if constexpr (kTransposedB) {
    RowPanel<Tile::kN, Tile::kK, Tile::kThreads> panel_b{
        b + static_cast<long long>(col0) * g.ldb, g.ldb, g.n - col0, g.k, vector_b, {}};
    tile_product<Tile>(panel_a, panel_b, g.k, shared, acc);
  } else {
    ColumnPanel<Tile::kN, Tile::kK, Tile::kThreads> panel_b{b + col0, g.ldb,    g.n - col0,
                                                            g.k,      vector_b, {}};
    tile_product<Tile>(panel_a, panel_b, g.k, shared, acc);
  }
  const long long offset = outer * g.c_outer + inner * g.c_inner;
  write_tile<Tile>(shared, acc, [&](int row, int col, float sum) {
    write_value(g, offset, row0 + row, col0 + col, sum);
  });
}

static_assert(Tile128::kThreads == block_size::gemm_nt_128x128);
static_assert(Tile64::kThreads == block_size::gemm_nt_64x64);
static_assert(Tile64::kThreads == block_size::gemm_nn_64x64);
static_assert(Tile32::kThreads == block_size::gemm_nt_32x32);

GACER_GLOBAL(gemm_nt_128x128)(GemmArgs args) {
  gemm<Tile128, true>(args);
}
GACER_GLOBAL(gemm_nt_64x64)(GemmArgs args) {
  gemm<Tile64, true>(args);
}
GACER_GLOBAL(gemm_nt_32x32)(GemmArgs args) {
  gemm<Tile32, true>(args);
}
GACER_GLOBAL(gemm_nn_64x64)(GemmArgs args) {
  gemm<Tile64, false>(args);
}

}  // namespace gacer::kernels
