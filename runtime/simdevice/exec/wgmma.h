// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async: each of the four warps of a warpgroup multiplies its 16 rows of A (registers or
// shared memory) by all columns of B (shared memory), eight columns at a time, at once: commits and
// waits find it done.
//
// Descriptors: bits 0-13 start address, 16-29 leading and 32-45 stride byte offset, all >> 4; 62-63
// swizzle (0 none, 1: 128 bytes, 2: 64, 3: 32). With elements of E bytes, T = 16 / E and rows of W
// bytes, W the swizzle, element (m, k) lies at start +
//   k-major, none:  m%8 * 16 + m/8 * stride + k%T * E + k/T * leading
//   k-major, W:     m%8 * W + m/8 * stride + k * E
//   m-major, none:  m%T * E + m/T * stride + k%8 * 16 + k/8 * leading
//   m-major, W:     m%(W/E) * E + m/(W/E) * leading + k%8 * W + k/8 * stride
// and then bits 4.. of the address are combined by exclusive or with bits 7.. (1, 2 or 3 of them).
// Source: PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Shared Memory Layout", and the
// canonical layouts that CUTLASS documents for it.
#pragma once

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/matrix_forms.h"

namespace gacer::simdevice {

inline constexpr uint8_t kWgmmaRegisterA = 1, kWgmmaTransposedA = 2, kWgmmaTransposedB = 4,
                         kWgmmaNegated = 8;

// imm: the form of eight columns; mode: flags above; a, b: descriptors; c: whether D is added to.
// list: D as results; the registers of A, if any, and D.
bool wgmma_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
