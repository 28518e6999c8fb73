// SPDX-License-Identifier: Apache-2.0
// Single and double precision. The basic operations are the host's, in the mode asked for; the
// approximations are judged by the error that the ISA states.
#include <cmath>
#include <cstring>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;

template <typename T>
T from_bits(u64 raw) {
  T out;
  std::memcpy(&out, &raw, sizeof(out));
  return out;
}
template <typename T>
u64 to_bits(T value) {
  u64 out = 0;
  std::memcpy(&out, &value, sizeof(value));
  if (sizeof(T) == 4 && std::isnan(value)) return 0x7fffffff;
  return out;
}
template <typename T>
T flush(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T{0}, x) : x;
}

template <typename T>
T basic(const std::string& op, T x, T y, T z) {
  volatile T a = x, b = y, c = z;
  volatile T out = 0;
  if (op == "add") out = a + b;
  if (op == "sub") out = a - b;
  if (op == "mul") out = a * b;
  if (op == "fma" || op == "mad") out = std::fma(a, b, c);
  if (op == "div") out = a / b;
  if (op == "rcp") out = 1 / a;
  if (op == "sqrt") out = std::sqrt(a);
  return out;
}

template <typename T>
Reference basic_reference(const Form& form) {
  const bool ftz = form.has("ftz"), sat = form.has("sat");
  const Round mode = round_of(form);
  Reference out;
  out.domain = sizeof(T) == 4 ? Reference::kSingles : Reference::kDoubles;
  out.any_nan64 = sizeof(T) == 8;
  out.value = [=](const Sources& s) {
    T in[3] = {};
    for (size_t i = 0; i < s.size() && i < 3; ++i)
      in[i] = ftz ? flush(from_bits<T>(s[i])) : from_bits<T>(s[i]);
    T result;
    {
      const HostRounding host(mode);
      result = basic(form.opcode, in[0], in[1], in[2]);
    }
    if (ftz) result = flush(result);
    return to_bits(sat ? static_cast<T>(saturated(result)) : result);
  };
  return out;
}

std::optional<Reference> signs(const Form& form, const FloatFormat& f) {
  const u64 sign = u64{1} << (f.bits() - 1);
  const bool ftz = form.has("ftz"), negates = form.opcode == "neg";
  Reference out;
  out.domain = f.bits() == 32 ? Reference::kSingles : Reference::kDoubles;
  if (form.opcode == "copysign") {
    out.value = [=](const Sources& s) { return (s[0] & sign) | (s[1] & ~sign); };
  } else if (negates || form.opcode == "abs") {
    out.value = [=](const Sources& s) {
      const bool small = ftz && (s[0] & ~sign) < (u64{1} << f.fraction);
      const u64 x = small ? s[0] & sign : s[0];
      return negates ? x ^ sign : x & ~sign;
    };
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<Reference> order(const Form& form, const FloatFormat& f) {
  if (form.opcode != "min" && form.opcode != "max") return std::nullopt;
  const bool ftz = form.has("ftz"), nan = form.has("NaN"), by_size = form.has("xorsign");
  const bool lesser = form.opcode == "min";
  Reference out;
  out.domain = f.bits() == 32 ? Reference::kSingles : Reference::kDoubles;
  out.any_nan64 = f.bits() == 64;
  out.value = [=](const Sources& s) {
    long double x = decode(s[0], f), y = decode(s[1], f);
    if (ftz) x = flushed(x, f), y = flushed(y, f);
    const bool negative = ((s[0] ^ s[1]) >> (f.bits() - 1) & 1) != 0;
    if (by_size) x = std::fabs(x), y = std::fabs(y);
    const long double found = lesser ? least(x, y, nan) : greatest(x, y, nan);
    return encode(by_size && negative ? -found : found, f, Round::kNearest);
  };
  return out;
}

// ---- approximations: the true value, and how far off it may be

struct Approximation {
  long double (*function)(long double);
  long double relative, absolute;  // either suffices
};

long double reciprocal(long double x) {
  return 1 / x;
}
long double root(long double x) {
  return std::sqrt(x);
}
long double inverse_root(long double x) {
  return 1 / std::sqrt(x);
}
long double sine(long double x) {
  return std::sin(x);
}
long double cosine(long double x) {
  return std::cos(x);
}
long double logarithm(long double x) {
  return std::log2(x);
}
long double power(long double x) {
  return std::exp2(x);
}
long double tangent(long double x) {
  return std::tanh(x);
}

std::optional<Approximation> approximation(const Form& form) {
  const std::string& op = form.opcode;
  const bool half = form.last().substr(0, 3) == "f16", brain = form.last().substr(0, 4) == "bf16";
  const bool is_double = form.last() == "f64";
  const auto to_power = [](int n) { return std::ldexp(1.0L, n); };
  if (op == "rcp") return Approximation{reciprocal, to_power(is_double ? -20 : -23), 0};
  if (op == "sqrt") return Approximation{root, to_power(-23), 0};
  if (op == "rsqrt")
    return Approximation{inverse_root,
                         to_power(is_double ? (form.has("ftz") ? -20 : -51) : -22) / 1.07L, 0};
  if (op == "sin") return Approximation{sine, 0, to_power(-20) / 1.41L};
  if (op == "cos") return Approximation{cosine, 0, to_power(-20) / 1.41L};
  if (op == "lg2") return Approximation{logarithm, to_power(-22), to_power(-22)};
  if (op == "ex2") return Approximation{power, to_power(brain ? -7 : half ? -9 : -22), 0};
  if (op == "tanh")
    return Approximation{tangent,
                         to_power(brain  ? -8
                                  : half ? -10
                                         : -11),
                         half ? to_power(-10) : 0};
  return std::nullopt;
}

// Equal, both NaN, or within the bound plus one subnormal step.
bool within(const Approximation& a, const FloatFormat& f, bool ftz, u64 got, long double x) {
  if (ftz) x = flushed(x, f);
  const long double want = a.function(x), is = decode(got, f);
  if (std::isnan(want) || std::isnan(is)) return std::isnan(want) && std::isnan(is);
  const int bias = (1 << (f.exponent - 1)) - 1;
  const long double largest = std::ldexp(2.0L, bias), smallest = std::ldexp(1.0L, 1 - bias);
  if (std::isinf(is))
    return std::fabs(want) >= largest * (1 - a.relative) && std::signbit(want) == std::signbit(is);
  if (is == 0 && want == 0) return true;
  const long double step = ftz ? smallest : std::ldexp(smallest, -f.fraction);
  const long double bound = std::fmax(a.relative * std::fabs(want), a.absolute) + step;
  return std::fabs(want - is) <= bound;
}

}  // namespace

// Also used for halves, where every half of a register is one number.
std::optional<Reference> approximate_reference(const Form& form, const FloatFormat& f, int count) {
  const auto a = approximation(form);
  if (!a || !form.has("approx")) return std::nullopt;
  const bool ftz = form.has("ftz");
  Reference out;
  out.domain = f.bits() == 16   ? Reference::kHalves
               : f.bits() == 32 ? Reference::kSingles
                                : Reference::kDoubles;
  out.any_nan64 = true;
  out.value = [=](const Sources& s) {
    u64 all = 0;
    for (int i = 0; i < count; ++i) {
      long double x = decode(s[0] >> (i * f.bits()), f);
      all |= encode(a->function(ftz ? flushed(x, f) : x), f, Round::kNearest) << (i * f.bits());
    }
    return all;
  };
  const bool periodic = form.opcode == "sin" || form.opcode == "cos";
  out.close = [=](const Sources& s, u64 got, u64) {
    for (int i = 0; i < count; ++i) {
      const long double x = decode(s[0] >> (i * f.bits()), f);
      if (periodic && std::isfinite(x) && std::fabs(x) > 2 * 3.14159265358979L)
        continue;  // no bound is stated
      if (!within(*a, f, ftz, got >> (i * f.bits()), x)) return false;
    }
    return true;
  };
  return out;
}

namespace {

// div.approx: beyond 2^126 the quotient is a zero, or NaN for infinite dividends.
std::optional<Reference> approximate_quotient(const Form& form) {
  if (form.opcode != "div" || (!form.has("approx") && !form.has("full"))) return std::nullopt;
  const bool full = form.has("full"), ftz = form.has("ftz");
  Reference out;
  out.domain = Reference::kSingles;
  out.value = [=](const Sources& s) {
    float x = from_bits<float>(s[0]), y = from_bits<float>(s[1]);
    if (ftz) x = flush(x), y = flush(y);
    const bool beyond = !full && std::isfinite(y) && std::fabs(y) > 0x1p126f;
    float quotient = beyond ? (std::isinf(x) ? std::nanf("") : std::copysign(0.0f, x) * y) : x / y;
    if (beyond && std::isnan(x)) quotient = x;
    return to_bits(ftz ? flush(quotient) : quotient);
  };
  out.close = [](const Sources&, u64 got, u64 want) { return got - want + 2 <= 4; };  // 2 ulp
  return out;
}

}  // namespace

std::optional<Reference> float_reference(const Form& form) {
  const std::string type = form.last();
  if (type != "f32" && type != "f64") return std::nullopt;
  const FloatFormat f = *float_format(type);
  if (auto found = approximate_quotient(form)) return found;
  if (auto found = approximate_reference(form, f, 1)) return found;
  if (auto found = signs(form, f)) return found;
  if (auto found = order(form, f)) return found;
  for (const char* op : {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"})
    if (form.opcode == op)
      return type == "f32" ? basic_reference<float>(form) : basic_reference<double>(form);
  return std::nullopt;
}

}  // namespace gacer::simdevice::test
