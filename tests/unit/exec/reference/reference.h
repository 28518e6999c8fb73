// SPDX-License-Identifier: Apache-2.0
// What an instruction computes, written down a second time from the PTX ISA, by other means than
// the executor's: wide integers, the host's floating-point environment, exact arithmetic on long
// doubles.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gacer::simdevice::test {

// "setp.lt.and.f32 p|q, r, r, !p": taken apart.
struct Form {
  std::string text;
  std::string opcode;
  std::vector<std::string> modifiers;
  std::vector<std::string> operands;
  int least_sm = 70;
  bool has(const std::string& modifier) const;
  std::string last(
      size_t from_end = 0) const;  // a modifier counted from the end, "" if there is none
};

// Source operands in the order of the text, cut to their widths; predicates are 0 or 1.
using Sources = std::vector<uint64_t>;

struct Reference {
  std::function<uint64_t(const Sources&)> value;
  // Beyond equality: may `got` stand where `value` says `want`?
  std::function<bool(const Sources&, uint64_t got, uint64_t want)> close;
  bool any_nan64 = false;  // double precision keeps payloads as it likes
  enum Domain {
    kInts,
    kSingles,
    kDoubles,
    kHalves
  } domain = kInts;  // what the special inputs should be
};

// nullopt: not of that family.
std::optional<Reference> integer_reference(const Form& form);
std::optional<Reference> logic_reference(const Form& form);
std::optional<Reference> float_reference(const Form& form);
std::optional<Reference> half_reference(const Form& form);
std::optional<Reference> compare_reference(const Form& form);
std::optional<Reference> convert_reference(const Form& form);

// ---- shared between the families
__extension__ using Wide = __int128;
struct IntType {
  bool is_signed = false;
  int bits = 0;
  Wide low() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide high() const { return (Wide{1} << (is_signed ? bits - 1 : bits)) - 1; }
  Wide value(uint64_t raw) const;
  Wide clamp(Wide x) const { return x < low() ? low() : x > high() ? high() : x; }
};
// "u16", "s32", "b64"; nullopt: no integer.
std::optional<IntType> int_type(const std::string& name);

enum class Round { kNearest, kZero, kDown, kUp, kAway };
Round round_of(const Form& form);
// The host in another rounding mode for the life of the object.
class HostRounding {
 public:
  explicit HostRounding(Round mode);
  ~HostRounding();
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  int saved_;
};

struct FloatFormat {
  int fraction = 0, exponent = 0;
  bool has_infinity = true;  // e4m3: the greatest exponent holds numbers, and one NaN
  int bits() const { return 1 + fraction + exponent; }
  uint64_t nan() const { return (uint64_t{1} << (fraction + exponent)) - 1; }
  uint64_t infinity() const { return ((uint64_t{1} << exponent) - 1) << fraction; }
  uint64_t greatest() const { return has_infinity ? infinity() - 1 : nan() - 1; }
};
// "f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2"; nullopt: no float.
std::optional<FloatFormat> float_format(const std::string& name);
long double decode(uint64_t bits, const FloatFormat& format);
// `finite`: .satfinite
uint64_t encode(long double value, const FloatFormat& format, Round mode, bool finite = false);
// Sums and products that lose nothing which encode() could see.
long double odd_sum(long double a, long double b);
long double flushed(long double value, const FloatFormat& format);
long double saturated(long double value);
long double least(long double a, long double b, bool nan_wins);
long double greatest(long double a, long double b, bool nan_wins);

}  // namespace gacer::simdevice::test
