// SPDX-License-Identifier: Apache-2.0
// suld, sust, sured of a warp: plain reads, writes and atomic operations on level 0 of an image, at
// integer coordinates. Type and meaning of the result as in code.h; a: the 64-bit handle.
#pragma once

#include "runtime/simdevice/exec/code.h"

namespace gacer::simdevice {

enum class SurfaceShape : uint8_t { k1d, k2d, k3d, kArray1d, kArray2d };
enum class SurfaceBounds : uint8_t { kTrap, kClamp, kZero };
enum class SurfaceReduce : uint8_t { kAdd, kMin, kMax, kAnd, kOr };

// Registers in the list: results (suld); then coordinates (a layer first), data (sust, sured).
struct SurfaceOp {
  SurfaceShape shape = SurfaceShape::k2d;
  SurfaceBounds bounds = SurfaceBounds::kTrap;
  uint8_t part_bytes = 4;  // of one register
  uint8_t parts = 1;
  bool formatted = false;  // .p: x counts elements, else bytes
  uint8_t store_as = 0;    // formatted: StoreAs
  SurfaceReduce reduce = SurfaceReduce::kAdd;
  bool is_signed = false;  // kMin, kMax
};
static_assert(sizeof(SurfaceOp) == 8, "fits Insn::imm");

bool surface_load_handler(Warp& warp, const Insn& in, uint32_t mask);
bool surface_store_handler(Warp& warp, const Insn& in, uint32_t mask);
bool surface_reduce_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
