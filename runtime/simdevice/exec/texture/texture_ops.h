// SPDX-License-Identifier: Apache-2.0
// tex, tld4, txq, suq, istypep of a warp. Type and meaning of the result as in code.h; a: the
// 64-bit handle.
#pragma once

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/texture/sampler.h"

namespace gacer::simdevice {

// What tex and tld4 keep in Insn::imm. Registers in the list: results; then coordinates (a layer
// first), the level or the two gradients, offsets.
struct TextureOp {
  TextureShape shape = TextureShape::k2d;
  LevelChoice choice = LevelChoice::kBase;
  uint8_t coordinates = 2;  // without layer
  uint8_t component = 0;    // gather
  bool integer = false;
  bool gather = false;
  bool offsets = false;
  bool halves = false;  // two registers of packed halves in place of four
};
static_assert(sizeof(TextureOp) == 8, "fits Insn::imm");

// dst2: the predicate "is resident", always true.
bool texture_handler(Warp& warp, const Insn& in, uint32_t mask);

enum class TextureQuery : uint8_t {
  kWidth,
  kHeight,
  kDepth,
  kLevels,
  kArraySize,
  kDataType,
  kOrder,
  kNormalised,
  kSamples
};
// mode: TextureQuery; imm bit 0: of a surface, bit 1: b is the level.
bool texture_query_handler(Warp& warp, const Insn& in, uint32_t mask);
// dst = the handle is a texture (mode 0) or a surface (mode 1); mode 2: never.
bool texture_type_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
