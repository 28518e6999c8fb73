// SPDX-License-Identifier: Apache-2.0
// What a texture fetch at some coordinates gives (CUDA Programming Guide, "Texture Fetching").
//
//   point:  the element at floor(x)            x scaled by the extent if coordinates are normalised
//   linear: between floor(x - 0.5) and the next, weights rounded to 8 fractional bits
//
// Wrap and mirror need normalised coordinates and are clamp without. Layers clamp. Elements of
// linear memory beyond its width read as zero.
#pragma once

#include <cstdint>

#include "runtime/simdevice/exec/texture/texel.h"
#include "runtime/simdevice/exec/texture/texture_table.h"

namespace gacer::simdevice {

enum class TextureShape : uint8_t { k1d, k2d, k3d, kArray1d, kArray2d, kCube, kCubeArray };
enum class LevelChoice : uint8_t { kBase, kExplicit, kGradient };

struct TextureRequest {
  TextureShape shape = TextureShape::k2d;
  bool integer = false;  // `whole` in place of `at`
  float at[3] = {0, 0, 0};
  int32_t whole[3] = {0, 0, 0};
  uint32_t layer = 0;
  LevelChoice choice = LevelChoice::kBase;
  float level = 0;
  float dx[3] = {0, 0, 0}, dy[3] = {0, 0, 0};  // gradients
  int32_t offset[3] = {0, 0, 0};               // in elements
};

// Where elements come from.
class TexelSource {
 public:
  virtual ~TexelSource() = default;
  // False: the address is not the kernel's to read.
  virtual bool read(uint64_t address, uint32_t bytes, uint8_t* to) = 0;
};

// False: `source` refused.
bool sample_texture(const Texture& texture, const TextureRequest& request, TexelSource& source,
                    Texel& out);
// tld4: component `component` of the four elements that a linear filter would use,
// counter-clockwise from the lower left.
bool gather_texture(const Texture& texture, const TextureRequest& request, uint32_t component,
                    TexelSource& source, Texel& out);

}  // namespace gacer::simdevice
