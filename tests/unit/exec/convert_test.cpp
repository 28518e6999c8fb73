// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;
using s64 = int64_t;
template <typename T>
T cut(u64 v) {
  return static_cast<T>(v);
}

// Round to an integer, NaN to zero, clamp.
template <typename T>
u64 to_int(double v, double (*round)(double)) {
  if (std::isnan(v)) return 0;
  const double r = round(v);
  const double low = static_cast<double>(std::numeric_limits<T>::min()),
               high = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (r <= low) return static_cast<u64>(std::numeric_limits<T>::min());
  return static_cast<u64>(r >= high ? std::numeric_limits<T>::max() : static_cast<T>(r));
}
template <typename F>
auto rounded(int mode, F f) {
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile auto result = f();
  std::fesetround(before);
  return result;
}

#define EXPR [](u64 a, u64 b, u64 c) -> u64 { static_cast<void>(a), static_cast<void>(b), static_cast<void>(c); return
#define END \
  ;         \
  }
#define TRUNC [](double v) { return std::trunc(v); }
#define NEAREST [](double v) { return std::nearbyint(v); }
#define FLOOR [](double v) { return std::floor(v); }
#define CEIL [](double v) { return std::ceil(v); }

class IntConversion : public testing::TestWithParam<OpCase> {};
TEST_P(IntConversion, KeepsTheValueOrItsLowBits) {
  check_op(GetParam(), special_ints());
}

INSTANTIATE_TEST_SUITE_P(
    Width, IntConversion,
    testing::Values(OpCase{"cvt.u64.u32 d64, a32;", 64, EXPR cut<uint32_t>(a) END},
                    OpCase{"cvt.s64.s32 d64, a32;", 64, EXPR cut<u64>(cut<int32_t>(a)) END},
                    OpCase{"cvt.u64.s32 d64, a32;", 64, EXPR cut<u64>(cut<int32_t>(a)) END},
                    OpCase{"cvt.u32.u64 d32, a64;", 32, EXPR a END},
                    OpCase{"cvt.s32.s8 d32, a32;", 32, EXPR cut<u64>(cut<int8_t>(a)) END},
                    OpCase{"cvt.u32.u8 d32, a32;", 32, EXPR cut<uint8_t>(a) END},
                    OpCase{"cvt.s16.s8 d16, a16;", 16, EXPR cut<u64>(cut<int8_t>(a)) END},
                    OpCase{"cvt.u16.u8 d16, a32;", 16, EXPR cut<uint8_t>(a) END},
                    OpCase{"cvt.u32.u16 d32, a16;", 32, EXPR cut<uint16_t>(a) END},
                    OpCase{"cvt.s32.s16 d32, a16;", 32, EXPR cut<u64>(cut<int16_t>(a)) END},
                    OpCase{"cvt.u8.u32 d32, a32;", 32, EXPR cut<uint8_t>(a) END},
                    OpCase{"cvt.s8.s32 d32, a32;", 32, EXPR cut<u64>(cut<int8_t>(a)) END},
                    OpCase{"cvt.u16.u64 d16, a64;", 16, EXPR a END},
                    OpCase{"cvt.s64.s8 d64, a16;", 64, EXPR cut<u64>(cut<int8_t>(a)) END},
                    OpCase{"cvt.u32.s64 d32, a64;", 32, EXPR a END},
                    OpCase{"cvt.s64.u16 d64, a16;", 64, EXPR cut<uint16_t>(a) END}));

INSTANTIATE_TEST_SUITE_P(
    Saturated, IntConversion,
    testing::Values(OpCase{"cvt.sat.u8.s32 d32, a32;", 32,
                           EXPR cut<u64>(std::clamp<s64>(cut<int32_t>(a), 0, 255)) END},
                    OpCase{"cvt.sat.s8.s32 d32, a32;", 32,
                           EXPR cut<u64>(std::clamp<s64>(cut<int32_t>(a), -128, 127)) END},
                    OpCase{"cvt.sat.u16.u32 d16, a32;", 16,
                           EXPR std::min<u64>(cut<uint32_t>(a), 65535) END},
                    OpCase{"cvt.sat.s32.s64 d32, a64;", 32,
                           EXPR cut<u64>(std::clamp<s64>(cut<s64>(a), INT32_MIN, INT32_MAX)) END},
                    OpCase{"cvt.sat.u32.s64 d32, a64;", 32,
                           EXPR cut<u64>(std::clamp<s64>(cut<s64>(a), 0, UINT32_MAX)) END},
                    OpCase{"cvt.sat.s32.u32 d32, a32;", 32,
                           EXPR std::min<u64>(cut<uint32_t>(a), INT32_MAX) END}));

INSTANTIATE_TEST_SUITE_P(
    ToFloat, IntConversion,
    testing::Values(
        OpCase{"cvt.rn.f32.s32 df32, a32; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(cut<int32_t>(a))) END},
        OpCase{"cvt.rn.f32.u32 df32, a32; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(cut<uint32_t>(a))) END},
        OpCase{"cvt.rn.f32.s64 df32, a64; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(cut<s64>(a))) END},
        OpCase{"cvt.rn.f32.u64 df32, a64; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(a)) END},
        OpCase{"cvt.rz.f32.u64 df32, a64; mov.b32 d32, df32;", 32,
               EXPR bits_of(rounded(FE_TOWARDZERO, [&] { return static_cast<float>(a); })) END},
        OpCase{"cvt.rp.f32.s32 df32, a32; mov.b32 d32, df32;", 32,
               EXPR bits_of(rounded(FE_UPWARD, [&] { return static_cast<float>(cut<int32_t>(a)); }))
                   END},
        OpCase{"cvt.rn.f32.u8 df32, a16; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(cut<uint8_t>(a))) END},
        OpCase{"cvt.rn.f32.s8 df32, a32; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(cut<int8_t>(a))) END},
        OpCase{"cvt.rn.f32.u16 df32, a16; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(cut<uint16_t>(a))) END},
        OpCase{"cvt.rn.f64.s32 df64, a32; mov.b64 d64, df64;", 64,
               EXPR bits_of(static_cast<double>(cut<int32_t>(a))) END},
        OpCase{"cvt.rn.f64.u64 df64, a64; mov.b64 d64, df64;", 64,
               EXPR bits_of(static_cast<double>(a)) END},
        OpCase{"cvt.rn.f16.s32 d16, a32;", 16, EXPR to_half(cut<int32_t>(a)) END},
        OpCase{"cvt.rn.f16.u16 d16, a16;", 16, EXPR to_half(cut<uint16_t>(a)) END},
        OpCase{"cvt.rn.f16.s64 d16, a64;", 16, EXPR to_half(cut<s64>(a)) END}));

class FloatConversion : public testing::TestWithParam<OpCase> {};
TEST_P(FloatConversion, RoundsAsAsked) {
  check_op(GetParam(), special_floats());
}

INSTANTIATE_TEST_SUITE_P(
    ToInt, FloatConversion,
    testing::Values(
        OpCase{"cvt.rzi.s32.f32 d32, af32;", 32, EXPR to_int<int32_t>(f32(a), TRUNC) END},
        OpCase{"cvt.rni.s32.f32 d32, af32;", 32, EXPR to_int<int32_t>(f32(a), NEAREST) END},
        OpCase{"cvt.rmi.s32.f32 d32, af32;", 32, EXPR to_int<int32_t>(f32(a), FLOOR) END},
        OpCase{"cvt.rpi.s32.f32 d32, af32;", 32, EXPR to_int<int32_t>(f32(a), CEIL) END},
        OpCase{"cvt.rzi.u32.f32 d32, af32;", 32, EXPR to_int<uint32_t>(f32(a), TRUNC) END},
        OpCase{"cvt.rzi.ftz.u32.f32 d32, af32;", 32, EXPR to_int<uint32_t>(f32(a), TRUNC) END},
        OpCase{"cvt.rzi.s64.f32 d64, af32;", 64, EXPR to_int<s64>(f32(a), TRUNC) END},
        OpCase{"cvt.rzi.u64.f32 d64, af32;", 64, EXPR to_int<u64>(f32(a), TRUNC) END},
        OpCase{"cvt.rzi.u8.f32 d32, af32;", 32, EXPR to_int<uint8_t>(f32(a), TRUNC) END},
        OpCase{"cvt.rni.s8.f32 d16, af32;", 16, EXPR to_int<int8_t>(f32(a), NEAREST) END},
        OpCase{"cvt.rzi.s16.f32 d16, af32;", 16, EXPR to_int<int16_t>(f32(a), TRUNC) END},
        OpCase{"cvt.rzi.u16.f32 d32, af32;", 32, EXPR to_int<uint16_t>(f32(a), TRUNC) END},
        OpCase{"cvt.rzi.u32.f32 d64, af32;", 64, EXPR to_int<uint32_t>(f32(a), TRUNC) END}));

INSTANTIATE_TEST_SUITE_P(
    ToFloat, FloatConversion,
    testing::Values(
        OpCase{"cvt.f64.f32 df64, af32; mov.b64 d64, df64;", 64,
               EXPR bits_of(static_cast<double>(f32(a))) END, OpCase::kDouble},
        OpCase{"cvt.rn.f16.f32 d16, af32;", 16, EXPR to_half(f32(a)) END, OpCase::kHalf},
        OpCase{"cvt.rn.bf16.f32 d16, af32;", 16, EXPR to_bf16(f32(a)) END, OpCase::kBf16},
        OpCase{"cvt.rn.f16x2.f32 d32, af32, bf32;", 32,
               EXPR to_half(f32(a)) << 16 | to_half(f32(b)) END, OpCase::kHalf},
        OpCase{"cvt.rni.f32.f32 df32, af32; mov.b32 d32, df32;", 32,
               EXPR bits_of(std::nearbyint(f32(a))) END, OpCase::kFloat},
        OpCase{"cvt.rzi.f32.f32 df32, af32; mov.b32 d32, df32;", 32,
               EXPR bits_of(std::trunc(f32(a))) END, OpCase::kFloat},
        OpCase{"cvt.rmi.f32.f32 df32, af32; mov.b32 d32, df32;", 32,
               EXPR bits_of(std::floor(f32(a))) END, OpCase::kFloat},
        OpCase{"cvt.rpi.f32.f32 df32, af32; mov.b32 d32, df32;", 32,
               EXPR bits_of(std::ceil(f32(a))) END, OpCase::kFloat},
        OpCase{"cvt.sat.f32.f32 df32, af32; mov.b32 d32, df32;", 32,
               EXPR bits_of(std::isnan(f32(a)) ? 0.0f
                                               : std::fmin(std::fmax(f32(a), 0.0f), 1.0f) + 0.0f)
                   END},
        OpCase{"cvt.rna.tf32.f32 d32, af32;", 32,
               EXPR(std::isfinite(f32(a))
                        ? (a & 0x80000000) | (((a & 0x7fffffff) + 0x1000) & ~u64{0x1fff})
                        : a) END,
               OpCase::kFloat}));

class DoubleConversion : public testing::TestWithParam<OpCase> {};
TEST_P(DoubleConversion, RoundsAsAsked) {
  check_op(GetParam(), special_doubles());
}

INSTANTIATE_TEST_SUITE_P(
    FromDouble, DoubleConversion,
    testing::Values(
        OpCase{"cvt.rn.f32.f64 df32, af64; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(f64(a))) END, OpCase::kFloat},
        OpCase{"cvt.rz.f32.f64 df32, af64; mov.b32 d32, df32;", 32,
               EXPR bits_of(rounded(FE_TOWARDZERO, [&] { return static_cast<float>(f64(a)); })) END,
               OpCase::kFloat},
        OpCase{"cvt.rn.f16.f64 d16, af64;", 16, EXPR to_half(f64(a)) END, OpCase::kHalf},
        OpCase{"cvt.rzi.s32.f64 d32, af64;", 32, EXPR to_int<int32_t>(f64(a), TRUNC) END},
        OpCase{"cvt.rni.s64.f64 d64, af64;", 64, EXPR to_int<s64>(f64(a), NEAREST) END},
        OpCase{"cvt.rzi.u64.f64 d64, af64;", 64, EXPR to_int<u64>(f64(a), TRUNC) END},
        OpCase{"cvt.rmi.f64.f64 df64, af64; mov.b64 d64, df64;", 64,
               EXPR bits_of(std::floor(f64(a))) END, OpCase::kDouble}));

class HalfConversion : public testing::TestWithParam<OpCase> {};
TEST_P(HalfConversion, IsExactOrRoundedOnce) {
  check_op(GetParam(), special_halves());
}

INSTANTIATE_TEST_SUITE_P(
    FromHalf, HalfConversion,
    testing::Values(
        OpCase{"cvt.f32.f16 df32, a16; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(half_value(a))) END, OpCase::kFloat},
        OpCase{"cvt.f64.f16 df64, a16; mov.b64 d64, df64;", 64, EXPR bits_of(half_value(a)) END,
               OpCase::kDouble},
        OpCase{"cvt.f32.bf16 df32, a16; mov.b32 d32, df32;", 32,
               EXPR bits_of(static_cast<float>(bf16_value(a))) END, OpCase::kFloat},
        OpCase{"cvt.rzi.s32.f16 d32, a16;", 32, EXPR to_int<int32_t>(half_value(a), TRUNC) END},
        OpCase{"cvt.rni.s32.f16 d32, a16;", 32, EXPR to_int<int32_t>(half_value(a), NEAREST) END},
        OpCase{"cvt.rzi.u8.f16 d16, a16;", 16, EXPR to_int<uint8_t>(half_value(a), TRUNC) END},
        OpCase{"cvt.rni.f16.f16 d16, a16;", 16, EXPR to_half(std::nearbyint(half_value(a))) END,
               OpCase::kHalf}));

}  // namespace
}  // namespace gacer::simdevice::test
