// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, like lane_ops.cpp. Products of half, bfloat16 and tf32 values
// are exact in single precision, so multiply-then-add rounds as a fused operation would.
#include "runtime/simdevice/exec/lanes/lane_matrix.h"

#include "runtime/simdevice/exec/lanes/lane_math.h"

namespace gacer::simdevice {
namespace {

constexpr uint32_t kLanesHere = 32, kColumns = 8, kMaxRows = 16, kMaxDepth = 32;

template <typename T>
struct Tile {
  T a[kMaxRows][kMaxDepth];
  T b[kMaxDepth][kColumns];
  T c[kMaxRows][kColumns];
};

uint32_t elements_per_register(MatrixType type) {
  if (type == MatrixType::kF16 || type == MatrixType::kBf16) return 2;
  return type == MatrixType::kS8 || type == MatrixType::kU8 ? 4 : 1;
}

// Elements of one register of all lanes, in lane order.
template <typename T>
void widen(const void* reg, MatrixType type, T* out) {
  const uint16_t* halves = static_cast<const uint16_t*>(reg);
  switch (type) {
    case MatrixType::kF16:
      GACER_EACH_LANE(64) out[i] = static_cast<T>(half_to_float(halves[i]));
      return;
    case MatrixType::kBf16:
      GACER_EACH_LANE(64) out[i] = static_cast<T>(bf16_to_float(halves[i]));
      return;
    case MatrixType::kTf32:
      GACER_EACH_LANE(32)
      out[i] = static_cast<T>(bits_as<float>(static_cast<const uint32_t*>(reg)[i] & ~0x1fffu));
      return;
    case MatrixType::kF64:
      GACER_EACH_LANE(32) out[i] = static_cast<T>(static_cast<const double*>(reg)[i]);
      return;
    case MatrixType::kS8:
      GACER_EACH_LANE(128) out[i] = static_cast<T>(static_cast<const int8_t*>(reg)[i]);
      return;
    case MatrixType::kU8:
      GACER_EACH_LANE(128) out[i] = static_cast<T>(static_cast<const uint8_t*>(reg)[i]);
      return;
  }
}

template <typename T>
void load_a(const MatrixJob& job, Tile<T>& tile) {
  const uint32_t run = 4 * elements_per_register(job.a_type), tall = job.rows / 8;
  T row[4 * kLanesHere];
  for (uint32_t r = 0; r * run * 8 < job.rows * job.depth; ++r) {
    widen(job.a[r], job.a_type, row);
    for (uint32_t g = 0; g < 8; ++g)
      for (uint32_t x = 0; x < run; ++x)
        tile.a[g + 8 * (r % tall)][(r / tall) * run + x] = row[g * run + x];
  }
}

template <typename T>
void load_b(const MatrixJob& job, Tile<T>& tile) {
  const uint32_t run = 4 * elements_per_register(job.b_type);
  T column[4 * kLanesHere];
  for (uint32_t r = 0; r * run < job.depth; ++r) {
    widen(job.b[r], job.b_type, column);
    for (uint32_t x = 0; x < run; ++x)
      for (uint32_t g = 0; g < 8; ++g) tile.b[r * run + x][g] = column[g * run + x];
  }
}

template <typename T>
void load_c(const MatrixJob& job, Tile<T>& tile) {
  for (uint32_t i = 0; i < job.rows / 4; ++i)
    for (uint32_t lane = 0; lane < kLanesHere; ++lane) {
      T& to = tile.c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2];
      if (job.half_sum) {
        to = static_cast<T>(
            half_to_float(static_cast<const uint16_t*>(job.c[i / 2])[2 * lane + i % 2]));
      } else {
        to = static_cast<const T*>(job.c[i])[lane];
      }
    }
}

template <typename T>
void store_d(const MatrixJob& job, const Tile<T>& tile) {
  for (uint32_t i = 0; i < job.rows / 4; ++i)
    for (uint32_t lane = 0; lane < kLanesHere; ++lane) {
      const T from = tile.c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2];
      if (job.half_sum) {
        static_cast<uint16_t*>(job.d[i / 2])[2 * lane + i % 2] =
            float_to_half(static_cast<float>(from));
      } else {
        static_cast<T*>(job.d[i])[lane] = from;
      }
    }
}

template <typename T>
void multiply(const MatrixJob& job) {
  Tile<T> tile;
  load_a(job, tile);
  load_b(job, tile);
  load_c(job, tile);
  for (uint32_t m = 0; m < job.rows; ++m)
    for (uint32_t k = 0; k < job.depth; ++k) {
      const T a = tile.a[m][k];
      GACER_EACH_LANE(8) tile.c[m][i] += a * tile.b[k][i];
    }
  store_d(job, tile);
}

}  // namespace

void GACER_MATRIX_MULTIPLY(const MatrixJob& job) {
  if (job.a_type == MatrixType::kF64) {
    multiply<double>(job);
  } else if (job.a_type == MatrixType::kS8 || job.a_type == MatrixType::kU8) {
    multiply<uint32_t>(job);  // wraps like the signed sum, without its undefined overflow
  } else {
    multiply<float>(job);
  }
}

}  // namespace gacer::simdevice
