// SPDX-License-Identifier: Apache-2.0
// The matrix products of the ISA: which shapes and types exist, and which element of which register
// of which lane is which element of which matrix.
//
// With p elements to a register and lane = 4 g + t,
//   A: register r, element j: row g + 8 (r mod rows/8), k = 4 p (r div rows/8) + p t + j
//   B: register r, element j: k = 4 p (r mod depth/4p) + p t + j, column g + 8 (r div depth/4p)
//   C and D, element i counted over all registers: row g + 8 (i/2 mod rows/8),
//      column 2 t + (i mod 2) + 8 (i/2 div rows/8)
// which is the ISA's mapping for every mma.sync but m8n8k4 with halves (quad pairs, below). The
// mapping of wmma is opaque in the ISA; the same rules serve, and where the ISA gives a fragment
// more elements than its share (halves), the elements repeat.
// Source: PTX ISA 9.0, "Matrix fragments for mma", "Matrix Fragments for WMMA".
#pragma once

#include <compare>

#include "runtime/simdevice/exec/lanes/lane_matrix.h"

namespace gacer::simdevice {

enum class MatrixOperand : uint8_t { kA, kB, kC };

struct MatrixSpec {
  uint32_t rows = 16, columns = 8, depth = 16;  // as written, depth in elements
  MatrixType a = MatrixType::kF16, b = MatrixType::kF16, c = MatrixType::kF32, d = MatrixType::kF32;
  MatrixProduct product = MatrixProduct::kMultiply;
  bool finite = false;
  uint8_t rounding = 0;
  bool wmma = false;
  bool sparse = false;
  bool quads = false;                          // m8n8k4 of halves: four products, by quad pairs
  bool a_is_column = false, b_is_row = false;  // quads
  auto operator<=>(const MatrixSpec&) const = default;
};

// The form; lives for ever. nullptr: the ISA has no such product.
const MatrixForm* find_matrix_form(const MatrixSpec& spec);

// 4-bit elements are moved as words of eight, like kB1.
struct MatrixTile {
  uint32_t rows = 0, columns = 0;  // in moved elements
  uint32_t element_bytes = 0;
  uint32_t packed = 1;  // elements of the matrix in a moved element
  uint8_t registers = 0;
  uint8_t per_register = 1;
  const uint16_t* place = nullptr;  // as in Fragment
};
// What wmma.load and wmma.store move: operand `operand` of a wmma of this shape with elements of
// `type`. nullptr: there is none.
const MatrixTile* find_wmma_tile(MatrixOperand operand, uint32_t rows, uint32_t columns,
                                 uint32_t depth, MatrixType type);

// Bits of one element; registers have 64 bits for kF64 and else 32.
uint32_t matrix_bits(MatrixType type);

// Cost in eighths of an mma.m16n8k16 of halves: multiply-adds, by how fast tensor cores do them
// (8-bit twice as fast as halves, 4-bit four, 1-bit 16 times; tf32 half as fast, doubles 1/16;
// sparse at twice the rate). NVIDIA A100 whitepaper, table "A100 Tensor Core peak rates".
uint32_t matrix_cost_eighths(const MatrixSpec& spec);

}  // namespace gacer::simdevice
