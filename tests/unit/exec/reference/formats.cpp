// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfenv>
#include <cmath>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {

bool Form::has(const std::string& modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Form::last(size_t from_end) const {
  return from_end < modifiers.size() ? modifiers[modifiers.size() - 1 - from_end] : "";
}

Wide IntType::value(uint64_t raw) const {
  const Wide cut = static_cast<Wide>(raw) & ((Wide{1} << bits) - 1);
  return is_signed && (cut >> (bits - 1)) != 0 ? cut - (Wide{1} << bits) : cut;
}

std::optional<IntType> int_type(const std::string& name) {
  if (name.size() < 2 || (name[0] != 'u' && name[0] != 's' && name[0] != 'b')) return std::nullopt;
  for (int bits : {8, 16, 32, 64})
    if (name.substr(1) == std::to_string(bits)) return IntType{name[0] == 's', bits};
  return std::nullopt;
}

Round round_of(const Form& form) {
  if (form.has("rz") || form.has("rzi")) return Round::kZero;
  if (form.has("rm") || form.has("rmi")) return Round::kDown;
  if (form.has("rp") || form.has("rpi")) return Round::kUp;
  return form.has("rna") ? Round::kAway : Round::kNearest;
}

HostRounding::HostRounding(Round mode) : saved_(std::fegetround()) {
  constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
  std::fesetround(kModes[static_cast<int>(mode)]);
}
HostRounding::~HostRounding() {
  std::fesetround(saved_);
}

std::optional<FloatFormat> float_format(const std::string& name) {
  if (name == "f16") return FloatFormat{10, 5};
  if (name == "bf16") return FloatFormat{7, 8};
  if (name == "f32") return FloatFormat{23, 8};
  if (name == "tf32") return FloatFormat{10, 8};
  if (name == "f64") return FloatFormat{52, 11};
  if (name == "e4m3") return FloatFormat{3, 4, false};
  if (name == "e5m2") return FloatFormat{2, 5};
  return std::nullopt;
}

long double decode(uint64_t bits, const FloatFormat& f) {
  const int bias = (1 << (f.exponent - 1)) - 1;
  const uint64_t magnitude = bits & f.nan(), fraction = bits & ((uint64_t{1} << f.fraction) - 1);
  const int exponent = static_cast<int>(magnitude >> f.fraction);
  const long double sign = (bits >> (f.bits() - 1) & 1) != 0 ? -1 : 1;
  if (f.has_infinity ? magnitude > f.infinity() : magnitude == f.nan()) return std::nanl("");
  if (f.has_infinity && magnitude == f.infinity()) return sign * HUGE_VALL;
  const uint64_t digits = fraction + (exponent != 0 ? uint64_t{1} << f.fraction : 0);
  return sign *
         std::ldexp(static_cast<long double>(digits), std::max(exponent, 1) - bias - f.fraction);
}

namespace {

// To an integer; nearest with ties away is round(), the others are the host's modes.
long double whole(long double x, Round mode) {
  if (mode == Round::kAway) return std::round(x);
  const HostRounding host(mode);
  volatile long double in = x;
  volatile long double out = std::nearbyint(in);
  return out;
}

}  // namespace

uint64_t encode(long double value, const FloatFormat& f, Round mode, bool finite) {
  if (std::isnan(value)) return f.nan();
  const int bias = (1 << (f.exponent - 1)) - 1;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (f.bits() - 1) : 0;
  if (value == 0) return sign;
  uint64_t code = f.greatest() + 1;
  if (std::isfinite(value)) {
    const int exponent = std::max(std::ilogb(value), 1 - bias);
    if (exponent < 20000 && exponent <= bias + 1) {
      const long double units = whole(std::ldexp(value, f.fraction - exponent), mode);
      // Units carry into the exponent by themselves; a subnormal has no implicit one.
      code = static_cast<uint64_t>(std::fabs(units)) +
             (static_cast<uint64_t>(exponent + bias - 1) << f.fraction);
    }
    const bool inward = mode == Round::kZero || mode == (sign != 0 ? Round::kUp : Round::kDown);
    if (code > f.greatest()) code = inward ? f.greatest() : f.greatest() + 1;
  }
  if (finite && code > f.greatest()) code = f.greatest();
  return sign | code;
}

// Exact unless the terms are more than 64 bits apart; then the last bit says that there is more.
long double odd_sum(long double a, long double b) {
  const HostRounding host(Round::kZero);
  volatile long double x = a, y = b;
  volatile long double sum = x + y;
  if (!std::isfinite(a) || !std::isfinite(b)) return sum;
  volatile long double back = sum - (std::fabs(a) > std::fabs(b) ? a : b);
  if (back == (std::fabs(a) > std::fabs(b) ? b : a)) return sum;
  int exponent = 0;
  const long double fraction = std::frexp(static_cast<long double>(sum), &exponent);
  const auto digits = static_cast<uint64_t>(std::ldexp(std::fabs(fraction), 64)) | 1;
  const long double odd = std::ldexp(static_cast<long double>(digits), exponent - 64);
  return sum < 0 ? -odd : odd;
}

long double flushed(long double value, const FloatFormat& f) {
  const long double normal = std::ldexp(1.0L, 2 - (1 << (f.exponent - 1)));
  return std::fabs(value) < normal ? std::copysign(0.0L, value) : value;
}

long double saturated(long double value) {
  if (!(value > 0)) return 0;
  return value < 1 ? value : 1;
}

long double least(long double a, long double b, bool nan_wins) {
  if (std::isnan(a) || std::isnan(b)) return nan_wins ? std::nanl("") : std::isnan(a) ? b : a;
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
long double greatest(long double a, long double b, bool nan_wins) {
  if (std::isnan(a) || std::isnan(b)) return nan_wins ? std::nanl("") : std::isnan(a) ? b : a;
  if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

}  // namespace gacer::simdevice::test
