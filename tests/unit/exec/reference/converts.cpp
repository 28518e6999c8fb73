// SPDX-License-Identifier: Apache-2.0
// cvt and cvt.pack.
#include <cmath>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;

Reference::Domain domain_of(const std::string& type) {
  if (int_type(type)) return Reference::kInts;
  if (type == "f32") return Reference::kSingles;
  return type == "f64" ? Reference::kDoubles : Reference::kHalves;
}

// Of the register's width: the result is extended by its own sign.
u64 integer_result(IntType to, Wide x) {
  return static_cast<u64>(to.value(static_cast<u64>(x)));
}

u64 float_to_integer(long double x, IntType to, Round mode) {
  if (std::isnan(x)) return 0;
  const long double low = static_cast<long double>(to.low()),
                    high = static_cast<long double>(to.high());
  volatile long double whole = x;
  {
    const HostRounding host(mode);
    whole = std::nearbyint(whole);
  }
  if (whole <= low) return integer_result(to, to.low());
  return integer_result(to, whole >= high ? to.high() : static_cast<Wide>(whole));
}

long double without_negatives(long double x) {
  return std::isnan(x) ? x : x > 0 ? x : 0;
}

// From one number to a float format; nearest integers first where an integral rounding is asked
// for.
u64 to_float(const Form& form, long double x, const FloatFormat& from, const FloatFormat& to,
             bool from_integer) {
  const bool single_in = from.bits() == 32 && from.fraction == 23,
             single_out = to.bits() == 32 && to.fraction == 23;
  if (form.has("ftz") && !from_integer && (single_in || from.fraction == 7)) x = flushed(x, from);
  if (form.has("relu")) x = without_negatives(x);
  Round mode = round_of(form);
  if (form.has("rni") || form.has("rzi") || form.has("rmi") || form.has("rpi")) {
    const HostRounding host(mode);
    volatile long double whole = x;
    whole = std::nearbyint(whole);
    x = whole;
    mode = Round::kNearest;
  }
  u64 code = encode(x, to, mode, form.has("satfinite"));
  if (form.has("ftz") && single_out)
    code = encode(flushed(decode(code, to), to), to, Round::kNearest);
  if (form.has("sat")) code = encode(saturated(decode(code, to)), to, Round::kNearest);
  return code;
}

std::optional<Reference> scalar(const Form& form) {
  const std::string from = form.last(), to = form.last(1);
  const auto from_int = int_type(from), to_int = int_type(to);
  const auto from_float = float_format(from), to_float_format = float_format(to);
  if ((!from_int && !from_float) || (!to_int && !to_float_format)) return std::nullopt;
  Reference out;
  out.domain = domain_of(from);
  out.any_nan64 = to == "f64";
  if (from_int && to_int) {
    const bool sat = form.has("sat");
    out.value = [=](const Sources& s) {
      const Wide x = from_int->value(s[0]);
      return integer_result(*to_int, sat ? to_int->clamp(x) : x);
    };
  } else if (to_int) {
    const bool ftz = form.has("ftz");
    out.value = [=, mode = round_of(form)](const Sources& s) {
      const long double x = decode(s[0], *from_float);
      return float_to_integer(ftz ? flushed(x, *from_float) : x, *to_int, mode);
    };
  } else if (from_int) {
    out.value = [=](const Sources& s) {
      return to_float(form, static_cast<long double>(from_int->value(s[0])), FloatFormat{},
                      *to_float_format, true);
    };
  } else if (to == "tf32") {
    out.value = [=](const Sources& s) {
      const long double x = decode(s[0], *from_float);
      return std::isnan(x) ? 0x7fffffff
                           : to_float(form, x, *from_float, *to_float_format, false) << 13;
    };
  } else if (from == to && from != "bf16" && !form.has("rni") && !form.has("rzi") &&
             !form.has("rmi") && !form.has("rpi") && !form.has("sat") && !form.has("ftz")) {
    out.value = [](const Sources& s) { return s[0]; };  // a move
  } else {
    out.value = [=](const Sources& s) {
      return to_float(form, decode(s[0], *from_float), *from_float, *to_float_format, false);
    };
  }
  // A bfloat16 is the upper half of a single, NaN or not.
  if (from == "bf16" && to == "f32")
    out.close = [](const Sources& s, u64 got, u64) {
      return got == s[0] << 16 && (s[0] & 0x7f80) == 0x7f80;
    };
  if (from == "f32" && to == "f32")
    out.close = [](const Sources& s, u64 got, u64) {
      return std::isnan(decode(s[0], {23, 8})) && std::isnan(decode(got, {23, 8}));
    };
  return out;
}

std::string element(const std::string& packed) {
  return packed.size() > 2 && packed.substr(packed.size() - 2) == "x2"
             ? packed.substr(0, packed.size() - 2)
             : "";
}

// Two numbers from two singles or from a pair.
std::optional<Reference> packed(const Form& form) {
  const std::string to = element(form.last(1)), from = element(form.last());
  if (to.empty()) return std::nullopt;
  const FloatFormat f = *float_format(to), g = *float_format(from.empty() ? form.last() : from);
  const bool pair = !from.empty();
  Reference out;
  out.domain = domain_of(form.last());
  out.value = [=](const Sources& s) {
    const u64 upper = pair ? s[0] >> g.bits() : s[0], lower = pair ? s[0] : s[1];
    return to_float(form, decode(upper, g), g, f, false) << f.bits() |
           to_float(form, decode(lower, g), g, f, false);
  };
  return out;
}

std::optional<Reference> pack(const Form& form) {
  if (!form.has("pack")) return std::nullopt;
  const std::string type = form.modifiers[2];
  const IntType to{type[0] == 's', std::stoi(type.substr(1))};
  Reference out;
  out.value = [=](const Sources& s) {
    const auto field = [&](u64 x) {
      return static_cast<u64>(to.clamp(static_cast<int32_t>(x))) & ((u64{1} << to.bits) - 1);
    };
    const u64 above = s.size() > 2 ? s[2] << (2 * to.bits) : 0;
    return above | field(s[0]) << to.bits | field(s[1]);
  };
  return out;
}

}  // namespace

std::optional<Reference> convert_reference(const Form& form) {
  if (form.opcode != "cvt") return std::nullopt;
  if (auto found = pack(form)) return found;
  if (auto found = packed(form)) return found;
  return scalar(form);
}

}  // namespace gacer::simdevice::test
