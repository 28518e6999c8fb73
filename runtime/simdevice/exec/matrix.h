// SPDX-License-Identifier: Apache-2.0
// Warp-wide matrix instructions. Type and meaning of the result as in code.h. All 32 lanes must
// take part: lanes that come later are waited for, lanes that have ended or are guarded off are a
// fault.
#pragma once

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/matrix_forms.h"

namespace gacer::simdevice {

// For such handlers. False: the node is parked until the other lanes come, or a fault is set.
bool whole_warp(Warp& warp, const Insn& in, uint32_t mask);

// imm: the MatrixForm. list: D as results, then A, B, C and, of a sparse A, the indices; mode: its
// selector.
bool mma_handler(Warp& warp, const Insn& in, uint32_t mask);

// imm: the MatrixTile; mode bit 0: column layout; a + e (64-bit constant): address; b: distance of
// rows or columns in elements; list: registers.
bool wmma_load_handler(Warp& warp, const Insn& in, uint32_t mask);
bool wmma_store_handler(Warp& warp, const Insn& in, uint32_t mask);

// mode bit 0: transposed; list: registers. a + imm: shared address of the lane's row.
bool load_matrix_handler(Warp& warp, const Insn& in, uint32_t mask);
bool store_matrix_handler(Warp& warp, const Insn& in, uint32_t mask);

// dst = the 8x8 matrix of halves in a, transposed.
bool move_matrix_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
