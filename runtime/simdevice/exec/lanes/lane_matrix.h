// SPDX-License-Identifier: Apache-2.0
// mma.sync fragments: D = A * B + C for one warp, all operands as register arrays of 32 lanes.
//
// With p elements to a register, lane = 4 g + t holds
//   A: register r, element j: row g + 8 (r & 1) (rows = 16; row g when rows = 8), k = 4 p (r >> 1)
//   + p t + j B: register r, element j: k = 4 p r + p t + j, column g C: element i: row g + 8 (i >>
//   1), column 2 t + (i & 1)
// Source: PTX ISA 9.0, "Matrix fragments for mma".
#pragma once

#include <cstdint>

namespace gacer::simdevice {

enum class MatrixType : uint8_t { kF16, kBf16, kTf32, kF64, kS8, kU8 };

struct MatrixJob {
  uint32_t rows = 16, depth = 16;  // columns are 8
  MatrixType a_type = MatrixType::kF16, b_type = MatrixType::kF16;
  bool half_sum = false;  // C and D are packed halves
  const void* a[8] = {};
  const void* b[8] = {};
  const void* c[8] = {};
  void* d[8] = {};
};

using MatrixFn = void (*)(const MatrixJob& job);
MatrixFn matrix_multiply();  // for this machine

void matrix_multiply_baseline(const MatrixJob& job);
void matrix_multiply_avx2(const MatrixJob& job);
void matrix_multiply_avx512(const MatrixJob& job);

}  // namespace gacer::simdevice
