// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;

// The host's arithmetic in another rounding mode; volatile keeps it from being done at compile
// time.
template <typename F>
auto rounded(int mode, F f) {
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile auto result = f();
  std::fesetround(before);
  return result;
}
float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
float saturated(float x) {
  return std::isnan(x) ? 0.0f : std::fmin(std::fmax(x, 0.0f), 1.0f) + 0.0f;
}
template <typename T>
T least(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? y : x;
  if (x == 0 && y == 0) return std::signbit(x) ? x : y;
  return std::fmin(x, y);
}
template <typename T>
T greatest(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? y : x;
  if (x == 0 && y == 0) return std::signbit(x) ? y : x;
  return std::fmax(x, y);
}

#define EXPR [](u64 a, u64 b, u64 c) -> u64 { static_cast<void>(a), static_cast<void>(b), static_cast<void>(c); return bits_of(
#define END ); \
  }
#define IF [](u64 a, u64 b, u64 c) -> u64 { static_cast<void>(a), static_cast<void>(b), static_cast<void>(c); return
#define FI \
  ;        \
  }
#define F32(body) body " mov.b32 d32, df32;", 32
#define F64(body) body " mov.b64 d64, df64;", 64

class FloatOp : public testing::TestWithParam<OpCase> {};
TEST_P(FloatOp, EqualsTheHostsArithmetic) {
  check_op(GetParam(), special_floats());
}

class DoubleOp : public testing::TestWithParam<OpCase> {};
TEST_P(DoubleOp, EqualsTheHostsArithmetic) {
  check_op(GetParam(), special_doubles());
}

INSTANTIATE_TEST_SUITE_P(
    Basic, FloatOp,
    testing::Values(
        OpCase{F32("add.f32 df32, af32, bf32;"), EXPR f32(a) + f32(b) END, OpCase::kFloat},
        OpCase{F32("sub.rn.f32 df32, af32, bf32;"), EXPR f32(a) - f32(b) END, OpCase::kFloat},
        OpCase{F32("mul.f32 df32, af32, 0f40490FDB;"), EXPR f32(a) * 3.14159274f END,
               OpCase::kFloat},
        OpCase{F32("mul.f32 df32, af32, 2.5;"), EXPR f32(a) * 2.5f END, OpCase::kFloat},
        OpCase{F32("fma.rn.f32 df32, af32, bf32, cf32;"), EXPR std::fma(f32(a), f32(b), f32(c)) END,
               OpCase::kFloat},
        OpCase{F32("mad.rn.f32 df32, af32, bf32, cf32;"), EXPR std::fma(f32(a), f32(b), f32(c)) END,
               OpCase::kFloat},
        OpCase{F32("div.rn.f32 df32, af32, bf32;"), EXPR f32(a) / f32(b) END, OpCase::kFloat},
        OpCase{F32("div.full.f32 df32, af32, bf32;"), EXPR f32(a) / f32(b) END, OpCase::kFloat},
        OpCase{F32("rcp.rn.f32 df32, af32;"), EXPR 1 / f32(a) END, OpCase::kFloat},
        OpCase{F32("sqrt.rn.f32 df32, af32;"), EXPR std::sqrt(f32(a)) END, OpCase::kFloat},
        OpCase{F32("rsqrt.approx.f32 df32, af32;"),
               EXPR static_cast<float>(1 / std::sqrt(static_cast<double>(f32(a)))) END,
               OpCase::kFloatClose},
        OpCase{F32("neg.f32 df32, af32;"), EXPR - f32(a) END, OpCase::kFloat},
        OpCase{F32("abs.f32 df32, af32;"), EXPR std::fabs(f32(a)) END, OpCase::kFloat},
        OpCase{F32("min.f32 df32, af32, bf32;"), EXPR least(f32(a), f32(b)) END, OpCase::kFloat},
        OpCase{F32("max.f32 df32, af32, bf32;"), EXPR greatest(f32(a), f32(b)) END, OpCase::kFloat},
        OpCase{F32("max.NaN.f32 df32, af32, bf32;"),
               EXPR std::isnan(f32(a)) || std::isnan(f32(b)) ? std::nanf("")
                                                             : greatest(f32(a), f32(b)) END,
               OpCase::kFloat},
        OpCase{F32("copysign.f32 df32, af32, bf32;"), EXPR std::copysign(f32(b), f32(a)) END,
               OpCase::kFloat},
        OpCase{F32("add.sat.f32 df32, af32, bf32;"), EXPR saturated(f32(a) + f32(b)) END},
        OpCase{F32("fma.rn.sat.f32 df32, af32, bf32, cf32;"),
               EXPR saturated(std::fma(f32(a), f32(b), f32(c))) END}));

INSTANTIATE_TEST_SUITE_P(
    FlushToZero, FloatOp,
    testing::Values(
        OpCase{F32("add.ftz.f32 df32, af32, bf32;"), EXPR flush(flush(f32(a)) + flush(f32(b))) END,
               OpCase::kFloat},
        OpCase{F32("mul.ftz.f32 df32, af32, bf32;"), EXPR flush(flush(f32(a)) * flush(f32(b))) END,
               OpCase::kFloat},
        OpCase{F32("fma.rn.ftz.f32 df32, af32, bf32, cf32;"),
               EXPR flush(std::fma(flush(f32(a)), flush(f32(b)), flush(f32(c)))) END,
               OpCase::kFloat},
        OpCase{F32("rcp.approx.ftz.f32 df32, af32;"), EXPR flush(1 / flush(f32(a))) END,
               OpCase::kFloat},
        OpCase{F32("sqrt.approx.ftz.f32 df32, af32;"), EXPR std::sqrt(flush(f32(a))) END,
               OpCase::kFloat},
        OpCase{F32("abs.ftz.f32 df32, af32;"), EXPR std::fabs(flush(f32(a))) END, OpCase::kFloat},
        OpCase{F32("max.ftz.f32 df32, af32, bf32;"),
               EXPR greatest(flush(f32(a)), flush(f32(b))) END, OpCase::kFloat},
        OpCase{"setp.gt.ftz.f32 pd, af32, bf32;", 1, IF flush(f32(a)) > flush(f32(b)) FI}));

#define ROUNDED(NAME, MODE)                                                                  \
  OpCase{F32("add." NAME ".f32 df32, af32, bf32;"),                                          \
         EXPR rounded(MODE, [&] { return f32(a) + f32(b); }) END, OpCase::kFloat},           \
      OpCase{F32("sub." NAME ".f32 df32, af32, bf32;"),                                      \
             EXPR rounded(MODE, [&] { return f32(a) - f32(b); }) END, OpCase::kFloat},       \
      OpCase{F32("mul." NAME ".f32 df32, af32, bf32;"),                                      \
             EXPR rounded(MODE, [&] { return f32(a) * f32(b); }) END, OpCase::kFloat},       \
      OpCase{F32("fma." NAME ".f32 df32, af32, bf32, cf32;"),                                \
             EXPR rounded(MODE, [&] { return std::fma(f32(a), f32(b), f32(c)); }) END,       \
             OpCase::kFloat},                                                                \
      OpCase{F32("div." NAME ".f32 df32, af32, bf32;"),                                      \
             EXPR rounded(MODE, [&] { return f32(a) / f32(b); }) END, OpCase::kFloat},       \
      OpCase{F32("sqrt." NAME ".f32 df32, af32;"),                                           \
             EXPR rounded(MODE, [&] { return std::sqrt(f32(a)); }) END, OpCase::kFloat},     \
      OpCase {                                                                               \
    F32("rcp." NAME ".f32 df32, af32;"), EXPR rounded(MODE, [&] { return 1 / f32(a); }) END, \
        OpCase::kFloat                                                                       \
  }

INSTANTIATE_TEST_SUITE_P(Rounding, FloatOp,
                         testing::Values(ROUNDED("rz", FE_TOWARDZERO), ROUNDED("rm", FE_DOWNWARD),
                                         ROUNDED("rp", FE_UPWARD)));

INSTANTIATE_TEST_SUITE_P(
    Transcendental, FloatOp,
    testing::Values(OpCase{F32("ex2.approx.f32 df32, af32;"),
                           EXPR static_cast<float>(std::exp2(static_cast<double>(f32(a)))) END,
                           OpCase::kFloatClose},
                    OpCase{F32("ex2.approx.ftz.f32 df32, af32;"),
                           EXPR flush(static_cast<float>(std::exp2(static_cast<double>(f32(a)))))
                               END,
                           OpCase::kFloatClose},
                    OpCase{F32("lg2.approx.f32 df32, af32;"),
                           EXPR static_cast<float>(std::log2(static_cast<double>(f32(a)))) END,
                           OpCase::kFloatClose},
                    OpCase{F32("sin.approx.f32 df32, af32;"),
                           EXPR static_cast<float>(std::sin(static_cast<double>(f32(a)))) END,
                           OpCase::kFloatClose},
                    OpCase{F32("cos.approx.f32 df32, af32;"),
                           EXPR static_cast<float>(std::cos(static_cast<double>(f32(a)))) END,
                           OpCase::kFloatClose},
                    OpCase{F32("tanh.approx.f32 df32, af32;"),
                           EXPR static_cast<float>(std::tanh(static_cast<double>(f32(a)))) END,
                           OpCase::kFloatClose}));

#define F32_COMPARE(OP, RESULT)                                          \
  OpCase {                                                               \
    "setp." OP ".f32 pd, af32, bf32;", 1, IF[](float x, float y)->bool { \
      return RESULT;                                                     \
    }                                                                    \
    (f32(a), f32(b)) FI                                                  \
  }

INSTANTIATE_TEST_SUITE_P(
    Compare, FloatOp,
    testing::Values(
        F32_COMPARE("eq", x == y), F32_COMPARE("ne", x<y || x> y), F32_COMPARE("lt", x < y),
        F32_COMPARE("le", x <= y), F32_COMPARE("gt", x > y), F32_COMPARE("ge", x >= y),
        F32_COMPARE("equ", !(x < y || x > y)), F32_COMPARE("neu", x != y),
        F32_COMPARE("ltu", !(x >= y)), F32_COMPARE("leu", !(x > y)), F32_COMPARE("gtu", !(x <= y)),
        F32_COMPARE("geu", !(x < y)), F32_COMPARE("num", !std::isnan(x) && !std::isnan(y)),
        F32_COMPARE("nan", std::isnan(x) || std::isnan(y)),
        OpCase{"setp.leu.and.f32 pd|pq, af32, bf32, pc;", 1, IF(f32(a) > f32(b) ? 0 : c) FI},
        OpCase{"testp.finite.f32 pd, af32;", 1, IF std::isfinite(f32(a)) FI},
        OpCase{"testp.subnormal.f32 pd, af32;", 1, IF std::fpclassify(f32(a)) == FP_SUBNORMAL FI},
        OpCase{"testp.notanumber.f32 pd, af32;", 1, IF std::isnan(f32(a)) FI},
        OpCase{"slct.f32.f32 df32, af32, bf32, cf32; mov.b32 d32, df32;", 32,
               IF(f32(c) >= 0 ? a : b) FI}));

INSTANTIATE_TEST_SUITE_P(
    Basic, DoubleOp,
    testing::Values(
        OpCase{F64("add.f64 df64, af64, bf64;"), EXPR f64(a) + f64(b) END, OpCase::kDouble},
        OpCase{F64("sub.rn.f64 df64, af64, bf64;"), EXPR f64(a) - f64(b) END, OpCase::kDouble},
        OpCase{F64("mul.f64 df64, af64, 0d400921FB54442D18;"), EXPR f64(a) * 3.141592653589793 END,
               OpCase::kDouble},
        OpCase{F64("mul.f64 df64, af64, 0.1;"), EXPR f64(a) * 0.1 END, OpCase::kDouble},
        OpCase{F64("fma.rn.f64 df64, af64, bf64, cf64;"), EXPR std::fma(f64(a), f64(b), f64(c)) END,
               OpCase::kDouble},
        OpCase{F64("fma.rz.f64 df64, af64, bf64, cf64;"),
               EXPR rounded(FE_TOWARDZERO, [&] { return std::fma(f64(a), f64(b), f64(c)); }) END,
               OpCase::kDouble},
        OpCase{F64("add.rp.f64 df64, af64, bf64;"),
               EXPR rounded(FE_UPWARD, [&] { return f64(a) + f64(b); }) END, OpCase::kDouble},
        OpCase{F64("div.rn.f64 df64, af64, bf64;"), EXPR f64(a) / f64(b) END, OpCase::kDouble},
        OpCase{F64("rcp.rn.f64 df64, af64;"), EXPR 1 / f64(a) END, OpCase::kDouble},
        OpCase{F64("sqrt.rn.f64 df64, af64;"), EXPR std::sqrt(f64(a)) END, OpCase::kDouble},
        OpCase{F64("neg.f64 df64, af64;"), EXPR - f64(a) END, OpCase::kDouble},
        OpCase{F64("abs.f64 df64, af64;"), EXPR std::fabs(f64(a)) END, OpCase::kDouble},
        OpCase{F64("min.f64 df64, af64, bf64;"), EXPR least(f64(a), f64(b)) END, OpCase::kDouble},
        OpCase{F64("max.f64 df64, af64, bf64;"), EXPR greatest(f64(a), f64(b)) END,
               OpCase::kDouble},
        OpCase{F64("copysign.f64 df64, af64, bf64;"), EXPR std::copysign(f64(b), f64(a)) END,
               OpCase::kDouble},
        OpCase{"setp.lt.f64 pd, af64, bf64;", 1, IF f64(a) < f64(b) FI},
        OpCase{"setp.geu.f64 pd, af64, bf64;", 1, IF !(f64(a) < f64(b)) FI},
        OpCase{"setp.neu.or.f64 pd, af64, bf64, pc;", 1, IF(f64(a) != f64(b)) | c FI},
        OpCase{"testp.infinite.f64 pd, af64;", 1, IF std::isinf(f64(a)) FI}));

// ---- half precision, one and two to a register

class HalfOp : public testing::TestWithParam<OpCase> {};
TEST_P(HalfOp, EqualsExactArithmeticRoundedOnce) {
  check_op(GetParam(), special_halves());
}

// a*b+c exactly, then rounded to odd so that the second rounding is right.
__extension__ using quad = __float128;
long double fma_once(double a, double b, double c) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return a * b + c;
  const quad product = static_cast<quad>(a) * b, sum = product + c;
  // What the sum lost, exactly; and what the double loses of the sum.
  const quad part = sum - product, lost = (product - (sum - part)) + (c - part);
  const double d = static_cast<double>(sum);
  const quad rest = (sum - d) + lost;
  if (rest == 0 || (as<u64>(d) & 1) != 0) return d;
  return std::nextafter(d, rest > 0 ? HUGE_VAL : -HUGE_VAL);
}
u64 half_fma(u64 a, u64 b, u64 c) {
  return to_half(fma_once(half_value(a), half_value(b), half_value(c)));
}
u64 bf16_fma(u64 a, u64 b, u64 c) {
  return to_bf16(fma_once(bf16_value(a), bf16_value(b), bf16_value(c)));
}
u64 half_add(u64 a, u64 b) {
  return to_half(half_value(a) + half_value(b));
}
u64 half_mul(u64 a, u64 b) {
  return to_half(half_value(a) * half_value(b));
}
template <typename F>
u64 both(F f, u64 a, u64 b, u64 c) {
  return f(a & 0xffff, b & 0xffff, c & 0xffff) |
         f(a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) << 16;
}

INSTANTIATE_TEST_SUITE_P(
    Scalar, HalfOp,
    testing::Values(
        OpCase{"add.f16 d16, a16, b16;", 16, IF half_add(a, b) FI, OpCase::kHalf},
        OpCase{"sub.rn.f16 d16, a16, b16;", 16, IF to_half(half_value(a) - half_value(b)) FI,
               OpCase::kHalf},
        OpCase{"mul.f16 d16, a16, b16;", 16, IF half_mul(a, b) FI, OpCase::kHalf},
        OpCase{"fma.rn.f16 d16, a16, b16, c16;", 16, IF half_fma(a, b, c) FI, OpCase::kHalf},
        OpCase{"neg.f16 d16, a16;", 16, IF a ^ 0x8000 FI},
        OpCase{"abs.f16 d16, a16;", 16, IF a & 0x7fff FI},
        OpCase{"max.f16 d16, a16, b16;", 16, IF to_half(greatest(half_value(a), half_value(b))) FI,
               OpCase::kHalf},
        OpCase{"min.f16 d16, a16, b16;", 16, IF to_half(least(half_value(a), half_value(b))) FI,
               OpCase::kHalf},
        OpCase{"setp.lt.f16 pd, a16, b16;", 1, IF half_value(a) < half_value(b) FI},
        OpCase{"setp.neu.f16 pd, a16, b16;", 1, IF half_value(a) != half_value(b) FI},
        OpCase{"fma.rn.bf16 d16, a16, b16, c16;", 16, IF bf16_fma(a, b, c) FI, OpCase::kBf16},
        OpCase{"add.rn.bf16 d16, a16, b16;", 16,
               IF to_bf16(bf16_value(a) + static_cast<long double>(bf16_value(b))) FI,
               OpCase::kBf16},
        OpCase{"max.bf16 d16, a16, b16;", 16, IF to_bf16(greatest(bf16_value(a), bf16_value(b))) FI,
               OpCase::kBf16}));

INSTANTIATE_TEST_SUITE_P(
    Packed, HalfOp,
    testing::Values(OpCase{"add.f16x2 d32, a32, b32;", 32,
                           IF both([](u64 x, u64 y, u64) { return half_add(x, y); }, a, b, c) FI,
                           OpCase::kHalf},
                    OpCase{"mul.rn.f16x2 d32, a32, b32;", 32,
                           IF both([](u64 x, u64 y, u64) { return half_mul(x, y); }, a, b, c) FI,
                           OpCase::kHalf},
                    OpCase{"fma.rn.f16x2 d32, a32, b32, c32;", 32, IF both(half_fma, a, b, c) FI,
                           OpCase::kHalf},
                    OpCase{"neg.f16x2 d32, a32;", 32, IF a ^ 0x80008000 FI},
                    OpCase{"setp.gt.f16x2 pq|pd, a32, b32;", 1,
                           IF half_value(a >> 16) > half_value(b >> 16) FI},
                    OpCase{"setp.gt.f16x2 pd|pq, a32, b32;", 1,
                           IF half_value(a) > half_value(b) FI}));

}  // namespace
}  // namespace gacer::simdevice::test
