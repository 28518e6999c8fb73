// SPDX-License-Identifier: Apache-2.0
// Warp-wide matrix products: D = A * B + C, all operands as register arrays of 32 lanes.
//
// A MatrixForm says what one instruction form multiplies and where each element of each operand's
// registers lies in its row-major tile (matrix_forms.h builds them from the ISA's rules). Products
// of half, bfloat16, tf32 and 8-bit floats are exact in single precision and are added one after
// the other in order of k, beginning with C, each sum rounded to single precision. The ISA leaves
// order and intermediate rounding of such sums open ("at least single precision"), so results agree
// with a device's to rounding, not bit for bit. Half results are rounded once, at the end. Double
// precision is a chain of fused multiply-adds in order of k. Integer sums wrap, or with .satfinite
// are exact and then clamped.
// Source: PTX ISA 9.0, "Warp Level Matrix Multiply-Accumulate Instructions".
#pragma once

#include <cstdint>

namespace gacer::simdevice {

// kB1 elements are whole words of 32 bits along k.
enum class MatrixType : uint8_t {
  kF16,
  kBf16,
  kTf32,
  kF32,
  kF64,
  kE4m3,
  kE5m2,
  kS8,
  kU8,
  kS4,
  kU4,
  kB1,
  kS32
};

constexpr uint32_t elements_per_register(MatrixType type) {
  switch (type) {
    case MatrixType::kF16:
    case MatrixType::kBf16:
      return 2;
    case MatrixType::kE4m3:
    case MatrixType::kE5m2:
    case MatrixType::kS8:
    case MatrixType::kU8:
      return 4;
    case MatrixType::kS4:
    case MatrixType::kU4:
      return 8;
    default:
      return 1;
  }
}

struct Fragment {
  MatrixType type = MatrixType::kF16;
  uint8_t registers = 0;
  uint8_t distinct = 0;  // so many hold all elements, the others repeat them
  // Index in the operand's tile of element j of lane l's register r:
  // place[(r * 32 + l) * elements_per_register + j].
  const uint16_t* place = nullptr;
};

enum class MatrixProduct : uint8_t { kMultiply, kXorPopc, kAndPopc };

struct MatrixForm {
  uint32_t rows = 16, columns = 8, depth = 16;  // columns: a multiple of 8
  uint32_t batches = 1;                         // independent products, tiles one after the other
  Fragment a, b, c, d;
  MatrixProduct product = MatrixProduct::kMultiply;
  bool finite = false;   // .satfinite
  uint8_t rounding = 0;  // kF64: a RoundTo
  // Sparse A: half of each `chunk` elements along k are given (0: A is dense), in runs of `unit`
  // that share an index. Four bits of indices a chunk, in the words of each group of four lanes:
  //   halves: lane s + c/4 has chunk c of row g in its low, of row g + 8 in its high 16 bits, where
  //   s
  //           is the selector times the lanes that one product needs
  //   else:   lane 2 (c/8) has chunk c of row g, the next lane that of row g + 8
  uint8_t chunk = 0, unit = 1;
  bool halves = true;
};

inline constexpr uint32_t kMatrixRegisters = 8;

struct MatrixJob {
  const MatrixForm* form = nullptr;
  const void* a[kMatrixRegisters] = {};
  const void* b[kMatrixRegisters] = {};
  const void* c[kMatrixRegisters] = {};
  void* d[kMatrixRegisters] = {};
  const uint32_t* indices = nullptr;  // sparse A
  uint32_t selector = 0;
};

using MatrixFn = void (*)(const MatrixJob& job);
MatrixFn matrix_multiply();  // for this machine

void matrix_multiply_baseline(const MatrixJob& job);
void matrix_multiply_avx2(const MatrixJob& job);
void matrix_multiply_avx512(const MatrixJob& job);

}  // namespace gacer::simdevice
