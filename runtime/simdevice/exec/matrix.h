// SPDX-License-Identifier: Apache-2.0
// Warp-wide matrix instructions. Type and meaning of the result as in code.h; all 32 lanes must
// take part.
#pragma once

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/lanes/lane_matrix.h"

namespace gacer::simdevice {

// What mma keeps in Insn::imm.
struct MatrixShape {
  uint8_t rows = 16, depth = 16;
  MatrixType a_type = MatrixType::kF16, b_type = MatrixType::kF16;
  uint8_t a_count = 0, b_count = 0, c_count = 0;  // registers
  bool half_sum = false;
};
static_assert(sizeof(MatrixShape) == 8, "fits Insn::imm");

// list: D as results, then A, B, C.
bool mma_handler(Warp& warp, const Insn& in, uint32_t mask);
// mode bit 0: transposed; list: registers. a + imm: shared address of the lane's row.
bool load_matrix_handler(Warp& warp, const Insn& in, uint32_t mask);
bool store_matrix_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
