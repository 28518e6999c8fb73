// SPDX-License-Identifier: Apache-2.0
// The tiled product behind GEMM and convolution.
//
//   global --panel.load--> registers --panel.store--> shared [k][m or n] --multiply--> accumulators
//
// Two shared buffers: the next step is loaded while the current one is multiplied, one barrier a
// step. Each accumulator sums over k in order, so that all tile shapes give the same bits.
#pragma once

#include "kernels/device/common.cuh"

namespace gacer::kernels {

template <int BM, int BN, int BK, int TM, int TN>
struct TileShape {
  static constexpr int kM = BM, kN = BN, kK = BK, kTm = TM, kTn = TN;
  static constexpr int kThreads = (BM / TM) * (BN / TN);
  static constexpr int kPad = 4;  // keeps float4 alignment and spreads transposed stores over banks

  static constexpr int kSlabRows = BM / TM;

  union Shared {
    struct {
      float a[2][BK][BM + kPad];
      float b[2][BK][BN + kPad];
    } panels;
    float slab[kSlabRows][BN];  // results on their way out
  };

  // A thread's rows (columns) come in runs of four, the runs spread over the tile. Slab i holds
  // every thread's i-th row.
  __device__ static int slab_row(int i, int s) { return (i / 4) * (BM / (TM / 4)) + s * 4 + i % 4; }
  __device__ static int row(int i) { return slab_row(i, threadIdx.x / (BN / TN)); }
  __device__ static int col(int j) {
    return (j / 4) * (BN / (TN / 4)) + static_cast<int>(threadIdx.x) % (BN / TN) * 4 + j % 4;
  }
};

using Tile128 = TileShape<128, 128, 8, 8, 8>;
using Tile64 = TileShape<64, 64, 16, 4, 4>;
using Tile32 = TileShape<32, 32, 16, 4, 4>;

// Four consecutive values of a row, zero beyond `end`.
__device__ __forceinline__ float4 load_quad(const float* row, int at, int end, bool vector) {
  if (vector && at + 4 <= end) return *reinterpret_cast<const float4*>(row + at);
  float4 quad;
  quad.x = at + 0 < end ? row[at + 0] : 0.0f;
  quad.y = at + 1 < end ? row[at + 1] : 0.0f;
  quad.z = at + 2 < end ? row[at + 2] : 0.0f;
  quad.w = at + 3 < end ? row[at + 3] : 0.0f;
  return quad;
}

// ROWS x BK of a matrix whose k runs along memory; stored transposed.
template <int ROWS, int BK, int THREADS>
struct RowPanel {
  static constexpr int kQuadsPerRow = BK / 4;
  static constexpr int kLoads = ROWS * kQuadsPerRow / THREADS;
  const float* base;  // first row of the tile
  int ld, rows, k_end;
  bool vector;
  float4 quads[kLoads];

  __device__ void load(int k0) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int item = threadIdx.x + i * THREADS;
      const int row = item / kQuadsPerRow;
      const int k = k0 + item % kQuadsPerRow * 4;
      quads[i] = row < rows ? load_quad(base + static_cast<long long>(row) * ld, k, k_end, vector)
                            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
  template <int LD>
  __device__ void store(float (*shared)[LD]) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int item = threadIdx.x + i * THREADS;
      const int row = item / kQuadsPerRow;
      const int k = item % kQuadsPerRow * 4;
      shared[k + 0][row] = quads[i].x;
      shared[k + 1][row] = quads[i].y;
      shared[k + 2][row] = quads[i].z;
      shared[k + 3][row] = quads[i].w;
    }
  }
};

// BK x COLS of a [k][n] matrix.
template <int COLS, int BK, int THREADS>
struct ColumnPanel {
  static constexpr int kQuadsPerRow = COLS / 4;
  static constexpr int kLoads = BK * kQuadsPerRow / THREADS;
  const float* base;  // first column of the tile
  int ld, cols, k_end;
  bool vector;
  float4 quads[kLoads];

  __device__ void load(int k0) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int item = threadIdx.x + i * THREADS;
      const int k = k0 + item / kQuadsPerRow;
      const int col = item % kQuadsPerRow * 4;
      quads[i] = k < k_end ? load_quad(base + static_cast<long long>(k) * ld, col, cols, vector)
                           : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
  template <int LD>
  __device__ void store(float (*shared)[LD]) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int item = threadIdx.x + i * THREADS;
      *reinterpret_cast<float4*>(&shared[item / kQuadsPerRow][item % kQuadsPerRow * 4]) = quads[i];
    }
  }
};

template <class Tile>
__device__ __forceinline__ void multiply_step(const float (*a)[Tile::kM + Tile::kPad],
                                              const float (*b)[Tile::kN + Tile::kPad],
                                              float (&acc)[Tile::kTm][Tile::kTn]) {
#pragma unroll
  for (int k = 0; k < Tile::kK; ++k) {
    float rows[Tile::kTm], cols[Tile::kTn];
#pragma unroll
    for (int i = 0; i < Tile::kTm; i += 4)
      *reinterpret_cast<float4*>(&rows[i]) = *reinterpret_cast<const float4*>(&a[k][Tile::row(i)]);
#pragma unroll
    for (int j = 0; j < Tile::kTn; j += 4)
      *reinterpret_cast<float4*>(&cols[j]) = *reinterpret_cast<const float4*>(&b[k][Tile::col(j)]);
#pragma unroll
    for (int i = 0; i < Tile::kTm; ++i)
#pragma unroll
      for (int j = 0; j < Tile::kTn; ++j) acc[i][j] = fmaf(rows[i], cols[j], acc[i][j]);
  }
}

template <class Tile, class PanelA, class PanelB>
__device__ __forceinline__ void tile_product(PanelA& a, PanelB& b, int k_end,
                                             typename Tile::Shared& shared,
                                             float (&acc)[Tile::kTm][Tile::kTn]) {
  a.load(0);
  b.load(0);
  a.store(shared.panels.a[0]);
  b.store(shared.panels.b[0]);
  __syncthreads();
  int current = 0;
#pragma unroll 1
  for (int k0 = Tile::kK; k0 < k_end; k0 += Tile::kK) {
    a.load(k0);
    b.load(k0);
    multiply_step<Tile>(shared.panels.a[current], shared.panels.b[current], acc);
    current ^= 1;
    a.store(shared.panels.a[current]);
    b.store(shared.panels.b[current]);
    __syncthreads();
  }
  multiply_step<Tile>(shared.panels.a[current], shared.panels.b[current], acc);
}

// Calls write(row, column, sum) for each value of the tile, neighbouring threads having
// neighbouring columns. Goes through shared memory slab by slab: whole sectors are written and the
// epilogue is compiled once per slab instead of once per accumulator.
template <class Tile, class Write>
__device__ __forceinline__ void write_tile(typename Tile::Shared& shared,
                                           const float (&acc)[Tile::kTm][Tile::kTn],
                                           const Write& write) {
  const int thread_row = threadIdx.x / (Tile::kN / Tile::kTn);
#pragma unroll
  for (int i = 0; i < Tile::kTm; ++i) {
    __syncthreads();
#pragma unroll
    for (int j = 0; j < Tile::kTn; ++j) shared.slab[thread_row][Tile::col(j)] = acc[i][j];
    __syncthreads();
#pragma unroll 1
    for (int item = threadIdx.x; item < Tile::kSlabRows * Tile::kN; item += Tile::kThreads) {
      const int s = item / Tile::kN, col = item % Tile::kN;
      write(Tile::slab_row(i, s), col, shared.slab[s][col]);
    }
  }
}

}  // namespace gacer::kernels
