// SPDX-License-Identifier: Apache-2.0
// One element of an image as registers see it.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/simdevice/exec/texture/texture_table.h"

namespace gacer::simdevice {

// Floats by their bits, or integers.
using Texel = std::array<uint32_t, 4>;

// Whether reads of the image through the sampler give floats.
bool reads_floats(const Image& image, const Sampler& sampler);

// Channels that the format lacks are 0, 0 and 1.
Texel decode_texel(const uint8_t* bytes, const Image& image, const Sampler& sampler);
// The border colour, as decode_texel would give it.
Texel border_texel(const Image& image, const Sampler& sampler);

// How sust.p takes its data: floats, integers with a sign or without, or whatever the format has.
enum class StoreAs : uint8_t { kFormat, kUnsigned, kSigned, kFloat };
// Into element_bytes() bytes; values out of the format's range become the nearest in it.
void encode_texel(const Texel& value, StoreAs as, const Image& image, uint8_t* bytes);

uint32_t half_to_float_bits(uint16_t half);
uint16_t float_to_half_bits(float value);

}  // namespace gacer::simdevice
