// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/texture/texel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace gacer::simdevice {
namespace {

uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

uint32_t raw_component(const uint8_t* bytes, uint32_t index, uint32_t size) {
  uint32_t value = 0;
  std::memcpy(&value, bytes + index * size, size);
  return value;
}

int32_t sign_extend(uint32_t value, uint32_t size) {
  const uint32_t shift = 32 - 8 * size;
  return static_cast<int32_t>(value << shift) >> shift;
}

// IEC 61966-2-1.
float linear_of_srgb(float v) {
  return v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f);
}

float normalised_value(uint32_t raw, const Image& image) {
  const float greatest = static_cast<float>((1u << (8 * image.component_bytes)) - 1);
  if (image.texel == TexelKind::kUnsigned) return static_cast<float>(raw) / greatest;
  const float half = static_cast<float>((1u << (8 * image.component_bytes - 1)) - 1);
  return std::max(static_cast<float>(sign_extend(raw, image.component_bytes)) / half, -1.0f);
}

uint32_t decode_component(uint32_t raw, uint32_t channel, const Image& image,
                          const Sampler& sampler) {
  if (image.texel == TexelKind::kFloat)
    return image.component_bytes == 2 ? half_to_float_bits(static_cast<uint16_t>(raw)) : raw;
  if (!reads_floats(image, sampler))
    return image.texel == TexelKind::kSigned
               ? static_cast<uint32_t>(sign_extend(raw, image.component_bytes))
               : raw;
  const float value = normalised_value(raw, image);
  const bool curved = sampler.srgb && channel < 3 && image.component_bytes == 1 &&
                      image.texel == TexelKind::kUnsigned;
  return bits_of(curved ? linear_of_srgb(value) : value);
}

// The format's integer nearest to `value`.
uint32_t integer_of(int64_t value, const Image& image) {
  const uint32_t bits = 8u * image.component_bytes;
  const bool is_signed = image.texel == TexelKind::kSigned;
  const int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t greatest = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return static_cast<uint32_t>(std::clamp(value, least, greatest));
}

uint32_t encode_float(float value, const Image& image) {
  if (image.texel == TexelKind::kFloat)
    return image.component_bytes == 2 ? float_to_half_bits(value) : bits_of(value);
  if (std::isnan(value)) return 0;
  double scaled = static_cast<double>(value);
  if (image.normalised) {
    const uint32_t bits = 8u * image.component_bytes;
    const bool is_signed = image.texel == TexelKind::kSigned;
    const double top = std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits)) - 1;
    scaled = std::clamp(scaled, is_signed ? -1.0 : 0.0, 1.0) * top;
  }
  return integer_of(std::llrint(std::clamp(scaled, -9e15, 9e15)), image);
}

uint32_t encode_component(uint32_t value, StoreAs as, const Image& image) {
  const bool floats = image.texel == TexelKind::kFloat || image.normalised;
  if (as == StoreAs::kFormat)
    as = floats                              ? StoreAs::kFloat
         : image.texel == TexelKind::kSigned ? StoreAs::kSigned
                                             : StoreAs::kUnsigned;
  if (as == StoreAs::kFloat) return encode_float(std::bit_cast<float>(value), image);
  const int64_t number =
      as == StoreAs::kSigned ? int64_t{static_cast<int32_t>(value)} : int64_t{value};
  return floats ? encode_float(static_cast<float>(number), image) : integer_of(number, image);
}

}  // namespace

uint32_t half_to_float_bits(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, fraction = half & 1023u;
  if (exponent == 31) return sign | 0x7f800000u | fraction << 13;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  return sign | bits_of(static_cast<float>(fraction) * 0x1p-24f);
}

uint16_t float_to_half_bits(float value) {
  const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::lrint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1) - (112u << 23);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

bool reads_floats(const Image& image, const Sampler& sampler) {
  if (image.texel == TexelKind::kFloat || image.normalised) return true;
  return image.component_bytes < 4 && !sampler.as_integer;
}

Texel decode_texel(const uint8_t* bytes, const Image& image, const Sampler& sampler) {
  Texel out{0, 0, 0, reads_floats(image, sampler) ? bits_of(1.0f) : 1u};
  for (uint32_t c = 0; c < image.channels; ++c)
    out[c] = decode_component(raw_component(bytes, c, image.component_bytes), c, image, sampler);
  return out;
}

Texel border_texel(const Image& image, const Sampler& sampler) {
  const bool floats = reads_floats(image, sampler);
  Texel out{};
  for (uint32_t c = 0; c < 4; ++c) {
    const float colour = sampler.border[c];
    out[c] = floats ? bits_of(colour) : encode_float(colour, image);
  }
  return out;
}

void encode_texel(const Texel& value, StoreAs as, const Image& image, uint8_t* bytes) {
  for (uint32_t c = 0; c < image.channels; ++c) {
    const uint32_t raw = encode_component(value[c], as, image);
    std::memcpy(bytes + c * image.component_bytes, &raw, image.component_bytes);
  }
}

}  // namespace gacer::simdevice
