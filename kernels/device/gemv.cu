// SPDX-License-Identifier: Apache-2.0
// Linear layers of few rows: each weight is read once, a warp holds one output column of all rows.
// Grid: x over groups of eight columns.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

template <int ROWS>
__device__ __forceinline__ void accumulate_quads(const GemmArgs& g, const float* weights, int lane,
                                                 float (&acc)[ROWS]) {
  for (int k = lane * 4; k < g.k; k += 128) {
    const float4 w = *reinterpret_cast<const float4*>(weights + k);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      if (row >= g.m) break;
      const float4 x =
          *reinterpret_cast<const float4*>(g.a + static_cast<long long>(row) * g.lda + k);
      acc[row] = fmaf(w.x, x.x, fmaf(w.y, x.y, fmaf(w.z, x.z, fmaf(w.w, x.w, acc[row]))));
    }
  }
}

template <int ROWS>
__device__ __forceinline__ void accumulate(const GemmArgs& g, const float* weights, int lane,
                                           float (&acc)[ROWS]) {
  for (int k = lane; k < g.k; k += 32) {
    const float w = weights[k];
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      if (row < g.m) acc[row] = fmaf(w, g.a[static_cast<long long>(row) * g.lda + k], acc[row]);
  }
}

template <int ROWS>
__device__ __forceinline__ void gemv(const GemmArgs& g) {
  const int col = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (col >= g.n) return;
  const float* weights = g.b + static_cast<long long>(col) * g.ldb;
  float acc[ROWS] = {};
  if ((g.vector_flags & kVectorA) && (g.vector_flags & kVectorB))
    accumulate_quads<ROWS>(g, weights, lane, acc);
  else
    accumulate<ROWS>(g, weights, lane, acc);
  float mine = 0.0f;  // lane r finishes row r
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const float sum = warp_sum(acc[row]);
    if (lane == row) mine = sum;
  }
  if (lane >= ROWS || lane >= g.m) return;
  const long long at = static_cast<long long>(lane) * g.ldc + col;
  const float bias = g.bias != nullptr ? g.bias[col] : 0.0f;
  const float residual = g.residual != nullptr ? g.residual[at] : 0.0f;
  g.c[at] = activate_value(fmaf(g.alpha, mine, bias) + residual, g.activation);
}

GACER_GLOBAL(gemv_rows1)(GemmArgs args) {
  gemv<1>(args);
}
GACER_GLOBAL(gemv_rows4)(GemmArgs args) {
  gemv<4>(args);
}
GACER_GLOBAL(gemv_rows8)(GemmArgs args) {
  gemv<8>(args);
}

}  // namespace gacer::kernels
