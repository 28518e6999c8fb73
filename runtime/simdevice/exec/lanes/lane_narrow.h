// SPDX-License-Identifier: Apache-2.0
// Rounding to the small formats (half, bfloat16, tf32 and the two 8-bit ones) in every mode that
// cvt knows. Internal linkage for the reason that lane_math.h gives.
#pragma once

#include "runtime/simdevice/exec/lanes/lane_math.h"

namespace gacer::simdevice {
namespace {

// A format: bits of fraction and exponent and the code of the greatest finite value; the next code
// is infinity where there is one. NaN is all ones without a sign.
template <int kFractionBits, int kExponentBits, uint32_t kGreatest>
struct SmallFormat {
  static constexpr int kFraction = kFractionBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint32_t kMax = kGreatest;
  static constexpr uint32_t kSign = 1u << (kFractionBits + kExponentBits);
  static constexpr uint32_t kNan = kSign - 1;
};
using HalfFormat = SmallFormat<10, 5, 0x7bff>;
using Bf16Format = SmallFormat<7, 8, 0x7f7f>;
using E4m3Format = SmallFormat<3, 4, 0x7e>;
using E5m2Format = SmallFormat<2, 5, 0x7b>;

// `finite`: what is too large becomes the greatest value instead of infinity.
template <typename Format>
inline uint32_t narrow(double x, RoundTo mode, bool finite) {
  const uint64_t bits = bits_as<uint64_t>(x), magnitude = bits & 0x7fffffffffffffffu;
  if (magnitude > 0x7ff0000000000000u) return Format::kNan;
  const bool negative = (bits >> 63) != 0;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  // Subnormal doubles are far below half of any format's least value; their missing bit does not
  // matter.
  const uint64_t digits = (magnitude & 0xfffffffffffffu) | 0x10000000000000u;
  const int below = 1 - Format::kBias - exponent;
  int shift = 52 - Format::kFraction + (below > 0 ? below : 0);
  if (shift > 60) shift = 60;
  const uint64_t kept = digits >> shift, rest = digits & ((uint64_t{1} << shift) - 1),
                 half = uint64_t{1} << (shift - 1);
  const bool outward = negative ? mode == RoundTo::kDown : mode == RoundTo::kUp;
  const bool up = magnitude != 0 &&
                  (mode == RoundTo::kNearest ? rest > half || (rest == half && (kept & 1) != 0)
                                             : outward && rest != 0);
  uint64_t code = kept + (up ? 1 : 0);
  if (below <= 0) code += static_cast<uint64_t>(exponent + Format::kBias - 1) << Format::kFraction;
  if (code > Format::kMax) {
    const bool stays = magnitude != 0x7ff0000000000000u && mode != RoundTo::kNearest && !outward;
    code = finite || stays ? Format::kMax : Format::kMax + 1;
  }
  return static_cast<uint32_t>(code) | (negative ? Format::kSign : 0u);
}

// Integers to double; what does not fit 53 bits leaves a bit that later roundings see.
inline double odd_double(uint64_t magnitude) {
  const uint64_t rest = magnitude & 0x7ffu;
  return static_cast<double>(magnitude >> 53 == 0 ? magnitude
                                                  : (magnitude - rest) | (rest != 0 ? 0x800u : 0u));
}
inline double odd_double(int64_t x) {
  const double magnitude =
      odd_double(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
  return x < 0 ? -magnitude : magnitude;
}
inline double odd_double(uint32_t x) {
  return static_cast<double>(x);
}
inline double odd_double(int32_t x) {
  return static_cast<double>(x);
}

// Two of an 8-bit format from two values; the first is the upper one.
template <typename Format>
inline uint16_t narrow_pair(float upper, float lower) {
  return static_cast<uint16_t>(narrow<Format>(static_cast<double>(upper), RoundTo::kNearest, true)
                                   << 8 |
                               narrow<Format>(static_cast<double>(lower), RoundTo::kNearest, true));
}
template <typename Format>
inline uint16_t narrow_halves(uint32_t pair, bool positive) {
  float upper = half_to_float(static_cast<uint16_t>(pair >> 16)),
        lower = half_to_float(static_cast<uint16_t>(pair));
  if (positive) upper = relu(upper), lower = relu(lower);
  return narrow_pair<Format>(upper, lower);
}

// Bits 7..0 as half. An e5m2 number is the upper byte of a half; an e4m3 one has less range and
// more fraction.
inline uint16_t e5m2_to_half(uint32_t code) {
  return static_cast<uint16_t>((code & 0x7fu) > 0x7cu ? 0x7fffu : (code & 0xffu) << 8);
}
inline uint16_t e4m3_to_half(uint32_t code) {
  const uint32_t magnitude = code & 0x7fu, sign = (code & 0x80u) << 8;
  if (magnitude == 0x7fu) return 0x7fff;
  const uint16_t half =
      static_cast<uint16_t>(magnitude << 7);  // 2^8 too small: the biases are 15 and 7
  return static_cast<uint16_t>(float_to_half(half_to_float(half) * 256.0f) | sign);
}
inline uint16_t half_relu(uint16_t h) {
  return float_to_half(relu(half_to_float(h)));
}

// Ten bits of fraction in a single's place.
enum class TieTo : uint8_t { kAway, kEven, kNone };
inline uint32_t to_tf32(uint32_t x, TieTo ties, bool finite) {
  const uint32_t magnitude = x & 0x7fffffffu, sign = x & 0x80000000u;
  if (magnitude > 0x7f800000u) return 0x7fffffffu;
  const uint32_t add = ties == TieTo::kAway   ? 0x1000u
                       : ties == TieTo::kEven ? 0xfffu + ((x >> 13) & 1u)
                                              : 0u;
  uint32_t out = magnitude == 0x7f800000u ? magnitude : (magnitude + add) & ~0x1fffu;
  if (finite && out == 0x7f800000u) out = 0x7f7fe000u;
  return out | sign;
}

// cvt.pack: a in the upper of two fields of kBits, b in the lower.
template <int kBits, bool kIsSigned>
inline uint32_t clamp_field(int32_t x) {
  constexpr int32_t kLow = kIsSigned ? -(1 << (kBits - 1)) : 0,
                    kHigh = (1 << (kIsSigned ? kBits - 1 : kBits)) - 1;
  return static_cast<uint32_t>(x < kLow ? kLow : x > kHigh ? kHigh : x) & ((1u << kBits) - 1);
}
template <int kBits, bool kIsSigned>
inline uint32_t pack_fields(int32_t a, int32_t b) {
  return clamp_field<kBits, kIsSigned>(a) << kBits | clamp_field<kBits, kIsSigned>(b);
}

}  // namespace
}  // namespace gacer::simdevice
