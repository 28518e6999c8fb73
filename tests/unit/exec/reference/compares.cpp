// SPDX-License-Identifier: Apache-2.0
// set, setp and testp. For setp the test reads p in bit 0 and q in bit 1.
#include <cmath>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;

// What the comparison says of less, equal, greater and unordered.
bool holds(const std::string& op, bool less, bool equal, bool unordered) {
  if (op == "num") return !unordered;
  if (op == "nan") return unordered;
  const bool true_if_nan = op.size() == 3;
  if (unordered) return true_if_nan;
  const std::string base = op.substr(0, 2);
  if (base == "eq") return equal;
  if (base == "ne") return !equal;
  if (base == "lt" || base == "lo") return less;
  if (base == "le" || base == "ls") return less || equal;
  if (base == "gt" || base == "hi") return !less && !equal;
  return !less;  // ge, hs
}

bool joined(const std::string& op, bool x, bool y) {
  if (op == "and") return x && y;
  if (op == "or") return x || y;
  return op == "xor" ? x != y : x;
}

struct Comparison {
  std::string op, bool_op;
  std::optional<IntType> integer;
  FloatFormat format;
  bool ftz = false, negated = false, packed = false;

  bool compare(u64 a, u64 b) const {
    if (integer) {
      const Wide x = integer->value(a), y = integer->value(b);
      return holds(op, x < y, x == y, false);
    }
    long double x = decode(a, format), y = decode(b, format);
    if (ftz) x = flushed(x, format), y = flushed(y, format);
    return holds(op, x < y, x == y, std::isnan(x) || std::isnan(y));
  }
};

std::optional<Comparison> comparison(const Form& form) {
  Comparison out;
  out.op = form.modifiers[0];
  for (const char* word : {"and", "or", "xor"})
    if (form.has(word)) out.bool_op = word;
  std::string type = form.last();
  out.integer = int_type(type);
  out.packed = type.size() > 2 && type.substr(type.size() - 2) == "x2";
  if (out.packed) type.resize(type.size() - 2);
  if (!out.integer) {
    if (!float_format(type)) return std::nullopt;
    out.format = *float_format(type);
  }
  out.ftz = form.has("ftz");
  out.negated = form.operands.back()[0] == '!';
  return out;
}

Reference::Domain domain_of(const Comparison& c) {
  if (c.integer) return Reference::kInts;
  return c.format.bits() == 16   ? Reference::kHalves
         : c.format.bits() == 32 ? Reference::kSingles
                                 : Reference::kDoubles;
}

u64 true_of(const std::string& type) {
  if (type == "f32") return 0x3f800000;
  if (type.substr(0, 3) == "f16") return 0x3c00;
  return type.substr(0, 4) == "bf16" ? 0x3f80 : ~u64{0};
}

std::optional<Reference> set(const Form& form) {
  const auto c = comparison(form);
  if (!c) return std::nullopt;
  const std::string to = form.last(1);
  Reference out;
  out.domain = domain_of(*c);
  out.value = [c = *c, to](const Sources& s) {
    const bool q = s.size() > 2 && (s[2] != 0) != c.negated;
    const auto one = [&](u64 a, u64 b) {
      return joined(c.bool_op, c.compare(a, b), q) ? true_of(to) : 0;
    };
    if (!c.packed) return one(s[0], s[1]);
    return (one(s[0], s[1]) & 0xffff) | (one(s[0] >> 16, s[1] >> 16) & 0xffff) << 16;
  };
  return out;
}

std::optional<Reference> setp(const Form& form) {
  const auto c = comparison(form);
  if (!c) return std::nullopt;
  const bool two = form.operands[0].find('|') != std::string::npos;
  Reference out;
  out.domain = domain_of(*c);
  out.value = [c = *c, two](const Sources& s) {
    const bool r = s.size() > 2 && (s[2] != 0) != c.negated, first = c.compare(s[0], s[1]);
    const bool second = c.packed ? c.compare(s[0] >> 16, s[1] >> 16) : !first;
    return u64{joined(c.bool_op, first, r)} | (two ? u64{joined(c.bool_op, second, r)} << 1 : 0);
  };
  return out;
}

std::optional<Reference> testp(const Form& form) {
  const FloatFormat f = *float_format(form.last());
  const std::string what = form.modifiers[0];
  Reference out;
  out.domain = f.bits() == 32 ? Reference::kSingles : Reference::kDoubles;
  out.value = [=](const Sources& s) -> u64 {
    const long double x = decode(s[0], f);
    const bool subnormal = x != 0 && flushed(x, f) == 0;
    if (what == "finite") return std::isfinite(x);
    if (what == "infinite") return std::isinf(x);
    if (what == "number") return !std::isnan(x);
    if (what == "notanumber") return std::isnan(x);
    return what == "subnormal" ? subnormal : std::isfinite(x) && x != 0 && !subnormal;
  };
  return out;
}

}  // namespace

std::optional<Reference> compare_reference(const Form& form) {
  if (form.opcode == "set") return set(form);
  if (form.opcode == "setp") return setp(form);
  return form.opcode == "testp" ? testp(form) : std::nullopt;
}

}  // namespace gacer::simdevice::test
