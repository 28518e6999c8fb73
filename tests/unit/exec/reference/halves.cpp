// SPDX-License-Identifier: Apache-2.0
// Half and bfloat16, one or two a register: exact in long double, rounded once.
#include <cmath>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {

std::optional<Reference> approximate_reference(const Form& form, const FloatFormat& f, int count);

namespace {

using u64 = uint64_t;
using Numbers = long double[3];

std::optional<std::function<long double(const Numbers&)>> operation(const Form& form) {
  const std::string& op = form.opcode;
  const bool nan = form.has("NaN");
  if (op == "add") return [](const Numbers& x) { return odd_sum(x[0], x[1]); };
  if (op == "sub") return [](const Numbers& x) { return odd_sum(x[0], -x[1]); };
  if (op == "mul") return [](const Numbers& x) { return x[0] * x[1]; };
  if (op == "fma") return [](const Numbers& x) { return odd_sum(x[0] * x[1], x[2]); };
  if (op == "min") return [nan](const Numbers& x) { return least(x[0], x[1], nan); };
  if (op == "max") return [nan](const Numbers& x) { return greatest(x[0], x[1], nan); };
  return std::nullopt;
}

// Of one half: 16 bits each.
std::optional<std::function<u64(const u64*)>> one_half(const Form& form, const FloatFormat& f) {
  const bool ftz = form.has("ftz"), sat = form.has("sat"), relu = form.has("relu"),
             by_size = form.has("xorsign");
  if (form.opcode == "neg" || form.opcode == "abs")
    return [=, negates = form.opcode == "neg"](const u64* s) {
      const u64 x = ftz && (s[0] & 0x7fff) < 0x400 ? s[0] & 0x8000 : s[0];
      return negates ? x ^ 0x8000 : x & 0x7fff;
    };
  const auto function = operation(form);
  if (!function) return std::nullopt;
  return [=, f1 = *function](const u64* s) {
    Numbers x;
    for (int i = 0; i < 3; ++i) {
      x[i] = decode(s[i], f);
      if (ftz) x[i] = flushed(x[i], f);
      if (by_size) x[i] = std::fabs(x[i]);
    }
    long double result = f1(x);
    if (by_size && ((s[0] ^ s[1]) & 0x8000) != 0) result = -result;
    u64 code = encode(result, f, Round::kNearest);
    if (ftz && (code & 0x7fff) < 0x400) code &= 0x8000;
    if (sat) code = encode(saturated(decode(code, f)), f, Round::kNearest);
    return relu && (code & 0x8000) != 0 ? 0 : code;
  };
}

}  // namespace

std::optional<Reference> half_reference(const Form& form) {
  std::string type = form.last();
  const bool packed = type.size() > 2 && type.substr(type.size() - 2) == "x2";
  if (packed) type.resize(type.size() - 2);
  if (type != "f16" && type != "bf16") return std::nullopt;
  const FloatFormat f = *float_format(type);
  if (auto found = approximate_reference(form, f, packed ? 2 : 1)) return found;
  const auto function = one_half(form, f);
  if (!function) return std::nullopt;
  Reference out;
  out.domain = Reference::kHalves;
  out.value = [=, f1 = *function](const Sources& s) {
    u64 all = 0;
    for (int shift = 0; shift < (packed ? 32 : 16); shift += 16) {
      u64 in[3] = {};
      for (size_t i = 0; i < s.size() && i < 3; ++i) in[i] = s[i] >> shift & 0xffff;
      all |= f1(in) << shift;
    }
    return all;
  };
  return out;
}

}  // namespace gacer::simdevice::test
