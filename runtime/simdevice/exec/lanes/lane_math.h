// SPDX-License-Identifier: Apache-2.0
// Scalar building blocks of the lane rows. Everything here has internal linkage on purpose: this
// header is compiled with several instruction sets into one program, and an inline function that
// the linker keeps only once could be the one built for a newer machine. For the same reason no
// std:: function is called here.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace gacer::simdevice {
namespace {

#if defined(__clang__)
#define GACER_EACH_LANE(n) \
  _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < (n); ++i)
#else
#define GACER_EACH_LANE(n) _Pragma("GCC ivdep") for (int i = 0; i < (n); ++i)
#endif

template <typename To, typename From>
inline To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

constexpr float kCanonicalNan32 = __builtin_bit_cast(float, 0x7fffffffu);
constexpr double kCanonicalNan64 = __builtin_bit_cast(double, 0x7fffffffffffffffULL);
constexpr float kInf32 = __builtin_bit_cast(float, 0x7f800000u);

// Rounding mode of the whole thread for the life of the object. The barriers keep the compiler from
// moving loads and stores, and with them the arithmetic between, across the change.
enum class RoundTo : uint8_t { kNearest, kZero, kDown, kUp };
class Rounding {
 public:
#if defined(__SSE2__)
  explicit Rounding(RoundTo mode) : saved_(_mm_getcsr()) {
    constexpr unsigned kBits[] = {0x0000, 0x6000, 0x2000, 0x4000};
    _mm_setcsr((saved_ & ~0x6000u) | kBits[static_cast<int>(mode)]);
    asm volatile("" ::: "memory");
  }
  ~Rounding() {
    asm volatile("" ::: "memory");
    _mm_setcsr(saved_);
  }

 private:
  unsigned saved_;
#else
  explicit Rounding(RoundTo mode) : saved_(fegetround()) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    fesetround(kModes[static_cast<int>(mode)]);
    asm volatile("" ::: "memory");
  }
  ~Rounding() {
    asm volatile("" ::: "memory");
    fesetround(saved_);
  }

 private:
  int saved_;
#endif
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;
};

// .ftz: a subnormal becomes a zero of its sign.
inline float flush(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  return bits_as<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
// .sat: to [0, 1], NaN to 0.
inline float saturate(float x) {
  return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}
inline double saturate(double x) {
  return x > 0 ? (x < 1 ? x : 1.0) : 0.0;
}

// Single precision has one NaN.
inline float canonical(float x) {
  return x == x ? x : kCanonicalNan32;
}
// .relu: nothing negative; a NaN stays one.
inline float relu(float x) {
  return x == x ? (x > 0 ? x : 0.0f) : kCanonicalNan32;
}

inline float half_to_float(uint16_t h) {
  const uint32_t em = h & 0x7fffu, sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t scaled = bits_as<uint32_t>(bits_as<float>(em << 13) * 0x1p112f);
  return bits_as<float>((em >= 0x7c00u ? (em << 13) | 0x7f800000u : scaled) | sign);
}

// Round to nearest even; NaN is 0x7fff.
inline uint16_t float_to_half(float f) {
  const uint32_t bits = bits_as<uint32_t>(f), x = bits & 0x7fffffffu;
  const uint32_t small = bits_as<uint32_t>(bits_as<float>(x) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (x + 0xc8000fffu + ((x >> 13) & 1u)) >> 13;
  const uint32_t large = x > 0x7f800000u ? 0x7fffu : 0x7c00u;
  const uint32_t h = x >= 0x47800000u ? large : (x < 0x38800000u ? small : normal);
  return static_cast<uint16_t>(h | (x > 0x7f800000u ? 0u : (bits >> 16) & 0x8000u));
}

inline float bf16_to_float(uint16_t h) {
  return bits_as<float>(static_cast<uint32_t>(h) << 16);
}

inline uint16_t float_to_bf16(float f) {
  const uint32_t x = bits_as<uint32_t>(f);
  const uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}

// A double in single precision, odd if anything was lost (subnormals too): rounding it again to 11
// or 8 bits then equals rounding the double once.
inline float to_odd_float(double d) {
  const float f = static_cast<float>(d);
  const double back = static_cast<double>(f);
  const uint32_t bits = bits_as<uint32_t>(f);
  const bool too_large = __builtin_fabs(back) > __builtin_fabs(d);
  const bool inexact = back < d || back > d;
  return bits_as<float>(inexact ? (bits - (too_large ? 1u : 0u)) | 1u : bits);
}

// a*b+c in double, odd if inexact. The product of two bf16 or half values is exact in double; the
// sum's error is the exact two-sum term.
inline double fma_to_odd(double product, double c) {
  const double sum = product + c;
  const double bb = sum - product;
  const double error = (product - (sum - bb)) + (c - bb);
  const uint64_t bits = bits_as<uint64_t>(sum);
  const bool finite = (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
  const bool inexact = finite && error != 0.0 && (bits & 1u) == 0;
  const bool away = (error > 0.0) == (sum > 0.0);  // the exact value has the greater magnitude
  const uint64_t odd = away ? bits | 1u : bits - 1u;
  return bits_as<double>(inexact ? odd : bits);
}

inline uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c) {
  const double product =
      static_cast<double>(half_to_float(a)) * static_cast<double>(half_to_float(b));
  return float_to_half(to_odd_float(fma_to_odd(product, static_cast<double>(half_to_float(c)))));
}
inline uint16_t bf16_fma(uint16_t a, uint16_t b, uint16_t c) {
  const double product =
      static_cast<double>(bf16_to_float(a)) * static_cast<double>(bf16_to_float(b));
  return float_to_bf16(to_odd_float(fma_to_odd(product, static_cast<double>(bf16_to_float(c)))));
}

inline uint16_t half_flush(uint16_t h) {
  return static_cast<uint16_t>((h & 0x7c00u) == 0 ? h & 0x8000u : h);
}

// PTX minimum and maximum: the other operand if one is NaN; -0 is less than +0.
inline float min_number(float x, float y) {
  const float zero = bits_as<float>(bits_as<uint32_t>(x) | bits_as<uint32_t>(y));
  const float unordered = x == x ? x : (y == y ? y : kCanonicalNan32);
  return x < y ? x : (y < x ? y : (x == y ? zero : unordered));
}
inline float max_number(float x, float y) {
  const float zero = bits_as<float>(bits_as<uint32_t>(x) & bits_as<uint32_t>(y));
  const float unordered = x == x ? x : (y == y ? y : kCanonicalNan32);
  return x > y ? x : (y > x ? y : (x == y ? zero : unordered));
}
inline double min_number(double x, double y) {
  const double zero = bits_as<double>(bits_as<uint64_t>(x) | bits_as<uint64_t>(y));
  const double unordered = x == x ? x : (y == y ? y : kCanonicalNan64);
  return x < y ? x : (y < x ? y : (x == y ? zero : unordered));
}
inline double max_number(double x, double y) {
  const double zero = bits_as<double>(bits_as<uint64_t>(x) & bits_as<uint64_t>(y));
  const double unordered = x == x ? x : (y == y ? y : kCanonicalNan64);
  return x > y ? x : (y > x ? y : (x == y ? zero : unordered));
}
inline float min_nan(float x, float y) {
  return x == x && y == y ? min_number(x, y) : kCanonicalNan32;
}
inline float max_nan(float x, float y) {
  return x == x && y == y ? max_number(x, y) : kCanonicalNan32;
}

// .xorsign.abs: by magnitude, with the product's sign unless NaN.
inline float xor_sign(float magnitude, float x, float y) {
  const uint32_t sign = (bits_as<uint32_t>(x) ^ bits_as<uint32_t>(y)) & 0x80000000u;
  return magnitude == magnitude ? bits_as<float>(bits_as<uint32_t>(magnitude) | sign) : magnitude;
}
inline float magnitude_of(float x) {
  return bits_as<float>(bits_as<uint32_t>(x) & 0x7fffffffu);
}
inline float min_xor(float x, float y) {
  return xor_sign(min_number(magnitude_of(x), magnitude_of(y)), x, y);
}
inline float max_xor(float x, float y) {
  return xor_sign(max_number(magnitude_of(x), magnitude_of(y)), x, y);
}
inline float min_nan_xor(float x, float y) {
  return xor_sign(min_nan(magnitude_of(x), magnitude_of(y)), x, y);
}
inline float max_nan_xor(float x, float y) {
  return xor_sign(max_nan(magnitude_of(x), magnitude_of(y)), x, y);
}

// div.approx is a * (1/b): beyond 2^126 the reciprocal is taken for zero.
inline float divide_approximately(float x, float y) {
  const uint32_t divisor = bits_as<uint32_t>(y) & 0x7fffffffu;
  const bool vanishes = divisor > 0x7e800000u && divisor < 0x7f800000u;
  return vanishes ? x * bits_as<float>(bits_as<uint32_t>(y) & 0x80000000u) : x / y;
}

// The approximate double rows see and give the upper 32 bits only, and no subnormals.
inline double upper_word(double x) {
  const uint64_t bits = bits_as<uint64_t>(x), upper = bits & 0xffffffff00000000u;
  return bits_as<double>((bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : upper);
}
// NaN stays NaN though its payload be in the lower bits.
inline double approximate(double x, double result) {
  return x == x && result == result ? upper_word(result) : kCanonicalNan64;
}

// Division by zero has no defined result on the device; this one does not trap on the host.
template <typename T>
inline T safe_div(T x, T y) {
  if constexpr (T(-1) < T(0)) {
    if (y == T(-1)) return static_cast<T>(0 - static_cast<uint64_t>(static_cast<int64_t>(x)));
  }
  return y == 0 ? static_cast<T>(-1) : static_cast<T>(x / (y == 0 ? 1 : y));
}
template <typename T>
inline T safe_rem(T x, T y) {
  if constexpr (T(-1) < T(0)) {
    if (y == T(-1)) return 0;
  }
  return y == 0 ? x : static_cast<T>(x % (y == 0 ? 1 : y));
}

inline uint32_t funnel_left(uint32_t lo, uint32_t hi, uint32_t n) {
  return static_cast<uint32_t>((((static_cast<uint64_t>(hi) << 32) | lo) << n) >> 32);
}
inline uint32_t funnel_right(uint32_t lo, uint32_t hi, uint32_t n) {
  return static_cast<uint32_t>(((static_cast<uint64_t>(hi) << 32) | lo) >> n);
}
inline uint32_t least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

inline uint64_t extract_field(uint64_t x, uint32_t pos, uint32_t len, uint32_t width,
                              bool is_signed_field) {
  pos &= 0xff, len &= 0xff;
  if (len == 0) return 0;
  const uint32_t last = least(pos + len - 1, width - 1);
  const uint64_t fill = is_signed_field && ((x >> last) & 1) != 0 ? ~uint64_t{0} : 0;
  if (pos >= width) return fill;
  const uint32_t have = last - pos + 1;
  const uint64_t keep = have >= 64 ? ~uint64_t{0} : (uint64_t{1} << have) - 1;
  return ((x >> pos) & keep) | (fill & ~keep);
}

inline uint64_t insert_field(uint64_t x, uint64_t into, uint32_t pos, uint32_t len,
                             uint32_t width) {
  pos &= 0xff, len &= 0xff;
  if (len == 0 || pos >= width) return into;
  const uint64_t ones = len >= 64 ? ~uint64_t{0} : (uint64_t{1} << len) - 1;
  const uint64_t keep = ones << pos;
  return (into & ~keep) | ((x << pos) & keep);
}

inline uint32_t byte_of(uint32_t lo, uint32_t hi, uint32_t index) {
  return static_cast<uint32_t>(((static_cast<uint64_t>(hi) << 32) | lo) >> (8 * (index & 7))) &
         0xff;
}
inline uint32_t permute_one(uint32_t lo, uint32_t hi, uint32_t selector) {
  const uint32_t byte = byte_of(lo, hi, selector);
  return (selector & 8) != 0 ? ((byte & 0x80) != 0 ? 0xffu : 0u) : byte;
}
inline uint32_t permute(uint32_t lo, uint32_t hi, uint32_t s) {
  return permute_one(lo, hi, s) | permute_one(lo, hi, s >> 4) << 8 |
         permute_one(lo, hi, s >> 8) << 16 | permute_one(lo, hi, s >> 12) << 24;
}
enum class PermuteMode : uint8_t {
  kForward4,
  kBackward4,
  kReplicate8,
  kEdgeLeft,
  kEdgeRight,
  kReplicate16
};
inline uint32_t permute_mode(uint32_t lo, uint32_t hi, uint32_t c, PermuteMode mode) {
  uint32_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t from = 0;
    const uint32_t s = c & 3;
    if (mode == PermuteMode::kForward4) from = s + i;
    if (mode == PermuteMode::kBackward4) from = s - i;
    if (mode == PermuteMode::kReplicate8) from = s;
    if (mode == PermuteMode::kEdgeLeft) from = i > s ? i : s;
    if (mode == PermuteMode::kEdgeRight) from = i < s ? i : s;
    if (mode == PermuteMode::kReplicate16) from = (s & 1) * 2 + (i & 1);
    out |= byte_of(lo, hi, from) << (8 * i);
  }
  return out;
}

inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t out = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t term = ((i & 4) ? a : ~a) & ((i & 2) ? b : ~b) & ((i & 1) ? c : ~c);
    out |= term & (0 - ((table >> i) & 1u));
  }
  return out;
}

template <typename A, typename B>
inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  for (int k = 0; k < 4; ++k)
    c += static_cast<uint32_t>(static_cast<A>(a >> (8 * k))) *
         static_cast<uint32_t>(static_cast<B>(b >> (8 * k)));
  return c;
}
template <typename A, typename B>
inline uint32_t dot2(uint32_t a, uint32_t b, uint32_t c) {
  for (int k = 0; k < 2; ++k)
    c += static_cast<uint32_t>(static_cast<A>(a >> (16 * k))) *
         static_cast<uint32_t>(static_cast<B>(b >> (8 * k)));
  return c;
}

inline int32_t clamp_s32(int64_t x) {
  return static_cast<int32_t>(x > 0x7fffffff ? 0x7fffffff : x < -0x80000000LL ? -0x80000000LL : x);
}
// The low 24 bits, signed.
inline int64_t low24(int32_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8;
}

// fns: the position of the n-th set bit from `base` on (n > 0 up, n < 0 down), all ones if there is
// none.
inline uint32_t nth_set(uint32_t mask, uint32_t base, int32_t n) {
  if (n == 0) return base < 32 && ((mask >> base) & 1u) != 0 ? base : ~0u;
  const int64_t step = n > 0 ? 1 : -1;
  int64_t left = n > 0 ? int64_t{n} - 1 : -int64_t{n} - 1;
  for (int64_t at = base; at >= 0 && at < 32; at += step)
    if (((mask >> at) & 1u) != 0 && left-- == 0) return static_cast<uint32_t>(at);
  return ~0u;
}

template <typename T>
inline uint32_t difference(uint32_t a, uint32_t b) {
  const int32_t d =
      static_cast<int32_t>(static_cast<T>(a)) - static_cast<int32_t>(static_cast<T>(b));
  return static_cast<uint32_t>(d < 0 ? -d : d);
}
template <typename T, int kCount>
inline uint32_t differences(uint32_t a, uint32_t b) {
  constexpr int kBits = 32 / kCount;
  uint32_t out = 0;
  for (int at = 0; at < 32; at += kBits)
    out |= (difference<T>(a >> at, b >> at) & ((1u << kBits) - 1)) << at;
  return out;
}
template <typename T, int kCount>
inline uint32_t sum_of_differences(uint32_t a, uint32_t b, uint32_t sum) {
  for (int at = 0; at < 32; at += 32 / kCount) sum += difference<T>(a >> at, b >> at);
  return sum;
}

inline uint64_t mul_high(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline int64_t mul_high(int64_t a, int64_t b) {
  return static_cast<int64_t>((static_cast<__int128>(a) * b) >> 64);
}

template <typename T>
inline uint32_t leading_one(T x) {  // bfind; all ones if there is none
  if constexpr (T(-1) < T(0)) x = x < 0 ? ~x : x;
  const uint64_t u = sizeof(T) == 8 ? static_cast<uint64_t>(x) : static_cast<uint32_t>(x);
  return u == 0 ? ~0u : 63u - static_cast<uint32_t>(__builtin_clzll(u));
}
inline uint32_t reverse_bits(uint32_t x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(x);
}
inline uint64_t reverse_bits(uint64_t x) {
  return (static_cast<uint64_t>(reverse_bits(static_cast<uint32_t>(x))) << 32) |
         reverse_bits(static_cast<uint32_t>(x >> 32));
}

// Float to integer: round as asked, NaN to 0, then clamp to the range of T.
inline double round_even(double x) {
  return __builtin_rint(x);
}
template <typename T>
inline T clamp_to(double x) {
  constexpr double kLow = static_cast<double>(T(-1) < T(0) ? T(T(1) << (8 * sizeof(T) - 1)) : T(0));
  constexpr double kHigh =
      (T(-1) < T(0) ? 1.0 : 2.0) * static_cast<double>(uint64_t{1} << (8 * sizeof(T) - 1));
  constexpr T kMax = static_cast<T>(T(-1) < T(0) ? ~(T(1) << (8 * sizeof(T) - 1)) : ~T(0));
  if (!(x >= kLow)) return x != x ? T(0) : static_cast<T>(kLow);
  return x >= kHigh ? kMax : static_cast<T>(x);
}

}  // namespace
}  // namespace gacer::simdevice
