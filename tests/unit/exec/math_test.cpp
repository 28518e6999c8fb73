// SPDX-License-Identifier: Apache-2.0
// CUDA's math library as nvcc compiles it: every function stays within the error that the CUDA C++
// Programming Guide states, against the host's library in long double.
#include <gtest/gtest.h>
#include <math.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

constexpr long double kPi = 3.141592653589793238462643383279502884L;
constexpr long double kRootTwo = 1.414213562373095048801688724209698079L;
constexpr int kCount = 2048;

// y with erf(y) = x, |x| <= 1/2.
long double small_inverse_erf(long double x) {
  long double y = x;
  for (int i = 0; i < 8; ++i) y -= (std::erf(y) - x) * std::sqrt(kPi) / 2 * std::exp(y * y);
  return y;
}
// y with erfc(y) = x: bisection, then Newton's steps.
long double inverse_erfc(long double x) {
  if (!(x >= 0 && x <= 2)) return std::nanl("");
  if (x == 0) return HUGE_VALL;
  if (x == 2) return -HUGE_VALL;
  if (std::fabs(1 - x) < 0.5L) return small_inverse_erf(1 - x);
  long double low = -7, high = 30;
  for (int i = 0; i < 60; ++i) {
    const long double middle = (low + high) / 2;
    (std::erfc(middle) > x ? low : high) = middle;
  }
  long double y = (low + high) / 2;
  for (int i = 0; i < 3; ++i) y += (std::erfc(y) - x) * std::sqrt(kPi) / 2 * std::exp(y * y);
  return y;
}
long double inverse_erf(long double x) {
  if (std::fabs(x) < 0.5L) return small_inverse_erf(x);
  return std::copysign(inverse_erfc(1 - std::fabs(x)), x);
}

// sin(pi x), exactly zero where it is.
long double sine_of_turns(long double x) {
  const long double part = std::fmod(x, 2.0L);
  return part == std::trunc(part) ? 0 : std::sin(kPi * part);
}

struct Function {
  const char* name;
  long double (*reference)(long double x, long double y);
  long double low, high;
  int ulp_float, ulp_double;
};
const Function kFunctions[] = {
#define MATH1(F, REFERENCE, LOW, HIGH, ULP32, ULP64) MATH2(F, REFERENCE, LOW, HIGH, ULP32, ULP64)
#define MATH2(F, REFERENCE, LOW, HIGH, ULP32, ULP64)                                              \
  {#F,                                                                                            \
   [](long double x, long double y) -> long double { return static_cast<void>(y), (REFERENCE); }, \
   LOW,                                                                                           \
   HIGH,                                                                                          \
   ULP32,                                                                                         \
   ULP64},
#include "tests/unit/exec/kernels/math_functions.def"
#undef MATH1
#undef MATH2
};

class MathFunction : public testing::TestWithParam<Function> {
 protected:
  static void SetUpTestSuite() {
    std::ifstream file(std::string(GACER_KERNEL_PTX) + "/math_80.ptx");
    std::stringstream text;
    text << file.rdbuf();
    device_ = new Device;
    program_ = device_->load(text.str());
    ASSERT_NE(program_, nullptr);
  }
  static void TearDownTestSuite() {
    program_.reset();
    delete device_;
  }

  // Even and logarithmic spread over the range, and its special points.
  template <typename T>
  std::vector<T> arguments(const Function& f) {
    std::uniform_real_distribution<long double> uniform(f.low, f.high), exponent(-30, 0);
    std::vector<T> out;
    for (long double v : {0.0L, 1.0L, -1.0L, 0.5L, 2.0L, f.low, f.high})
      if (v >= f.low && v <= f.high) out.push_back(static_cast<T>(v));
    while (out.size() < kCount) {
      const long double v = uniform(random_);
      out.push_back(static_cast<T>(out.size() % 2 == 0 ? v : v * std::exp2(exponent(random_))));
    }
    return out;
  }

  template <typename T>
  void check(const char* suffix, long double allowed, int fraction_bits) {
    const Function& f = GetParam();
    const std::vector<T> a = arguments<T>(f);
    std::vector<T> b = arguments<T>(f);
    std::shuffle(b.begin(), b.end(), random_);
    const uint64_t out = device_->allocate(kCount * sizeof(T));
    const Fault fault = device_->launch(
        *program_, std::string(f.name) + suffix, shape(kCount / 128, 128),
        Params().add(out).add(device_->upload(a)).add(device_->upload(b)).add(kCount));
    ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
    const std::vector<T> got = device_->download<T>(out, kCount);
    for (int i = 0; i < kCount; ++i) {
      const long double x = a[i], y = b[i];
      if (x < f.low || x > f.high) continue;  // rounded out of the domain
      const long double want = f.reference(x, y);
      ASSERT_LE(error_in_ulp<T>(got[i], want, fraction_bits), allowed)
          << f.name << suffix << "(" << x << ", " << y << ") is " << got[i] << ", not " << want;
    }
  }

  template <typename T>
  void check_special(const char* suffix, int fraction_bits);

  // Of the result's last place; half a one for rounding the reference is allowed on top.
  template <typename T>
  static long double error_in_ulp(T got, long double want, int fraction_bits) {
    if (std::isnan(want)) return std::isnan(got) ? 0 : HUGE_VALL;
    const T rounded = static_cast<T>(want);
    if (got == rounded) return 0;
    if (!std::isfinite(rounded) || !std::isfinite(got)) return HUGE_VALL;
    const int exponent = std::max(std::ilogb(want), sizeof(T) == 4 ? -126 : -1022);
    return std::fabs((got - want) / std::ldexp(1.0L, exponent - fraction_bits)) - 0.5L;
  }

  std::mt19937_64 random_{3};
  static inline Device* device_ = nullptr;
  static inline std::shared_ptr<Program> program_;
};

TEST_P(MathFunction, SingleStaysWithinTheStatedError) {
  check<float>("_float", GetParam().ulp_float, 23);
}
TEST_P(MathFunction, DoubleStaysWithinTheStatedError) {
  check<double>("_double", GetParam().ulp_double, 52);
}

// At the ends of the number line and beyond the domain: NaN where the host has one, the same
// infinities and zeros.
template <typename T>
void MathFunction::check_special(const char* suffix, int fraction_bits) {
  const Function& f = GetParam();
  using Limits = std::numeric_limits<T>;
  const std::vector<T> special = {T(0),
                                  -T(0),
                                  T(1),
                                  T(-1),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  Limits::denorm_min(),
                                  -Limits::denorm_min(),
                                  Limits::min(),
                                  T(0.5),
                                  T(-0.75),
                                  Limits::max() / 4,
                                  -Limits::max() / 4,
                                  T(3)};
  std::vector<T> a, b;
  for (T x : special)
    for (T y : special) a.push_back(x), b.push_back(y);
  const int n = static_cast<int>(a.size());
  const uint64_t out = device_->allocate(a.size() * sizeof(T));
  const Fault fault =
      device_->launch(*program_, std::string(f.name) + suffix, shape(2, 128),
                      Params().add(out).add(device_->upload(a)).add(device_->upload(b)).add(n));
  ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  const std::vector<T> got = device_->download<T>(out, a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const long double want = f.reference(a[i], b[i]);
    const T rounded = static_cast<T>(want);
    const auto where = [&] {
      std::stringstream text;
      text << f.name << suffix << "(" << a[i] << ", " << b[i] << ") is " << got[i] << ", not "
           << want;
      return text.str();
    };
    if (std::isfinite(rounded) && rounded != 0) {
      EXPECT_LE(error_in_ulp<T>(got[i], want, fraction_bits), 10) << where();
    } else {
      EXPECT_EQ(std::isnan(got[i]), std::isnan(rounded)) << where();
      EXPECT_TRUE(std::isnan(rounded) || got[i] == rounded) << where();
    }
  }
}

// Bessel functions have absolute error bounds far out; the reference of erfcx does not reach there.
TEST_P(MathFunction, SpecialArgumentsGiveTheHostsResults) {
  const std::string name = GetParam().name;
  if (name == "erfcx" || name[0] == 'j' || name[0] == 'y' || name.substr(0, 4) == "cyl_")
    GTEST_SKIP() << "no reference out there";
  check_special<float>("_float", 23);
  check_special<double>("_double", 52);
}

INSTANTIATE_TEST_SUITE_P(Library, MathFunction, testing::ValuesIn(kFunctions),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace gacer::simdevice::test
