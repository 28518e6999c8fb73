// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, permutations, moves and selections.
#include <cmath>
#include <cstring>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;

Reference plain(std::function<u64(const Sources&)> value) {
  return {std::move(value), nullptr, false, Reference::kInts};
}

std::optional<Reference> bitwise(const Form& form) {
  const std::string& op = form.opcode;
  if (op == "and") return plain([](const Sources& s) { return s[0] & s[1]; });
  if (op == "or") return plain([](const Sources& s) { return s[0] | s[1]; });
  if (op == "xor") return plain([](const Sources& s) { return s[0] ^ s[1]; });
  if (op == "not") return plain([](const Sources& s) { return ~s[0]; });
  if (op == "cnot") return plain([](const Sources& s) { return u64{s[0] == 0}; });
  if (op == "mov") return plain([](const Sources& s) { return s[0]; });
  return std::nullopt;
}

// With a predicate: word in the low, predicate in the high half.
std::optional<Reference> lop3(const Form& form) {
  if (form.opcode != "lop3") return std::nullopt;
  const bool both = form.has("and") || form.has("or"), conjunction = form.has("and");
  const bool no_word = form.operands[0][0] == '_', negated = form.operands.back()[0] == '!';
  return plain([=](const Sources& s) {
    u64 word = 0;
    for (int i = 0; i < 32; ++i) {
      const u64 index = (s[0] >> i & 1) << 2 | (s[1] >> i & 1) << 1 | (s[2] >> i & 1);
      word |= (s[3] >> index & 1) << i;
    }
    if (!both) return word;
    const bool q = (s[4] != 0) != negated, p = conjunction ? word != 0 && q : word != 0 || q;
    return (no_word ? 0 : word) | u64{p} << 32;
  });
}

std::optional<Reference> shifts(const Form& form) {
  const bool left = form.opcode == "shl" || form.has("l");
  if (form.opcode == "shf") {
    const bool wraps = form.has("wrap");
    return plain([=](const Sources& s) {
      const u64 n = wraps ? s[2] & 31 : s[2] > 32 ? 32 : s[2];
      const u64 both = s[1] << 32 | s[0];
      return left ? (n == 0 ? both : both << n) >> 32 : both >> n;
    });
  }
  if (form.opcode != "shl" && form.opcode != "shr") return std::nullopt;
  const IntType t = *int_type(form.last());
  return plain([=](const Sources& s) {
    Wide x = t.value(s[0]);
    for (u64 i = 0; i < s[1] && i < 64; ++i)
      x = left ? static_cast<Wide>(static_cast<u64>(x) << 1) : x >> 1;
    return static_cast<u64>(x);
  });
}

// Which byte of {b, a} goes to place i.
u64 permuted_byte(const std::string& mode, u64 c, u64 i) {
  const u64 s = c & 3;
  if (mode == "f4e") return s + i;
  if (mode == "b4e") return (s + 8 - i) & 7;
  if (mode == "rc8") return s;
  if (mode == "ecl") return i > s ? i : s;
  if (mode == "ecr") return i < s ? i : s;
  return mode == "rc16" ? (s & 1) * 2 + (i & 1) : c >> (4 * i) & 7;
}

std::optional<Reference> permute(const Form& form) {
  if (form.opcode != "prmt") return std::nullopt;
  const std::string mode = form.last() == "b32" ? "" : form.last();
  return plain([=](const Sources& s) {
    const u64 both = s[1] << 32 | s[0];
    u64 out = 0;
    for (u64 i = 0; i < 4; ++i) {
      u64 byte = both >> (8 * permuted_byte(mode, s[2], i)) & 0xff;
      if (mode.empty() && (s[2] >> (4 * i) & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      out |= byte << (8 * i);
    }
    return out;
  });
}

std::optional<Reference> selections(const Form& form) {
  if (form.opcode == "selp") return plain([](const Sources& s) { return s[2] != 0 ? s[0] : s[1]; });
  if (form.opcode != "slct") return std::nullopt;
  const bool by_float = form.last() == "f32", flushes = form.has("ftz");
  Reference out = plain([=](const Sources& s) {
    const FloatFormat single = *float_format("f32");
    long double key = by_float ? decode(s[2], single) : static_cast<int32_t>(s[2]);
    if (flushes) key = flushed(key, single);
    return key >= 0 ? s[0] : s[1];
  });
  if (by_float) out.domain = Reference::kSingles;
  return out;
}

}  // namespace

std::optional<Reference> logic_reference(const Form& form) {
  for (auto family : {bitwise, lop3, shifts, permute, selections})
    if (auto found = family(form)) return found;
  return std::nullopt;
}

}  // namespace gacer::simdevice::test
