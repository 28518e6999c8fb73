// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;
u64 cut(Wide x) {
  return static_cast<u64>(x);
}

Reference plain(std::function<u64(const Sources&)> value) {
  return {std::move(value), nullptr, false, Reference::kInts};
}

// x / y towards zero; what division by zero gives is not defined by the ISA: the hardware's all
// ones.
Wide quotient(Wide x, Wide y) {
  return y == 0 ? -1 : x / y;
}
Wide remainder(Wide x, Wide y) {
  return y == 0 ? x : x % y;
}

// The product's part that .lo, .hi, .wide name, and mul24's.
Wide product(const Form& form, IntType type, Wide x, Wide y) {
  if (form.opcode == "mul24" || form.opcode == "mad24") {
    const IntType narrow{type.is_signed, 24};
    const Wide p = narrow.value(cut(x)) * narrow.value(cut(y));
    return form.has("hi") ? p >> 16 : p;
  }
  // Of two unsigned 64-bit numbers the product needs all 128 bits.
  __extension__ using Unsigned = unsigned __int128;
  const Unsigned all = static_cast<Unsigned>(x) * static_cast<Unsigned>(y);
  if (!form.has("hi")) return static_cast<Wide>(all);
  if (type.is_signed || type.bits < 64) return static_cast<Wide>(all) >> type.bits;
  return static_cast<Wide>(all >> 64);
}

std::optional<Reference> products(const Form& form, IntType t) {
  const IntType wide{t.is_signed, form.has("wide") ? 2 * t.bits : t.bits};
  const bool adds = form.opcode == "mad" || form.opcode == "mad24", saturates = form.has("sat");
  return plain([=](const Sources& s) {
    const Wide p = product(form, t, t.value(s[0]), t.value(s[1]));
    if (!adds) return cut(p);
    // The product's field first, as a number of its own.
    const Wide field = wide.value(cut(p));
    return cut(saturates ? t.clamp(field + t.value(s[2])) : field + wide.value(s[2]));
  });
}

using Binary = Wide (*)(Wide, Wide);
Wide lesser(Wide x, Wide y) {
  return x < y ? x : y;
}
Wide greater(Wide x, Wide y) {
  return x > y ? x : y;
}
Wide sum(Wide x, Wide y) {
  return x + y;
}
Wide difference(Wide x, Wide y) {
  return x - y;
}

Binary binary_of(const std::string& opcode) {
  if (opcode == "add") return sum;
  if (opcode == "sub") return difference;
  if (opcode == "div") return quotient;
  if (opcode == "rem") return remainder;
  if (opcode == "min") return lesser;
  return opcode == "max" ? greater : nullptr;
}

std::optional<Reference> pairs(const Form& form) {
  const bool is_signed = form.has("s16x2"), relu = form.has("relu");
  if (!is_signed && !form.has("u16x2")) return std::nullopt;
  const IntType half{is_signed, 16};
  const Binary f = binary_of(form.opcode);
  return plain([=](const Sources& s) {
    u64 out = 0;
    for (int shift : {0, 16}) {
      const Wide x = f(half.value(s[0] >> shift), half.value(s[1] >> shift));
      out |= (cut(relu ? greater(x, 0) : x) & 0xffff) << shift;
    }
    return out;
  });
}

std::optional<Reference> unary(const Form& form, IntType t) {
  const std::string& op = form.opcode;
  if (op == "abs")
    return plain([=](const Sources& s) { return cut(greater(t.value(s[0]), -t.value(s[0]))); });
  if (op == "neg") return plain([=](const Sources& s) { return cut(-t.value(s[0])); });
  return std::nullopt;
}

u64 find_leading(IntType t, u64 raw, bool shift_amount) {
  Wide x = t.value(raw);
  if (x < 0) x = -x - 1;
  for (int bit = t.bits - 1; bit >= 0; --bit)
    if ((x >> bit & 1) != 0) return static_cast<u64>(shift_amount ? t.bits - 1 - bit : bit);
  return ~u64{0};
}

u64 count_bits(u64 x, int bits, bool leading) {
  u64 count = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    const bool one = (x >> bit & 1) != 0;
    if (leading && one) return count;
    count += leading ? 1 : one;
  }
  return count;
}

u64 find_nth(u64 mask, u64 base, int64_t n) {
  if (n == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~u64{0};
  int64_t count = 0;
  const int64_t wanted = n > 0 ? n : -n;
  for (int64_t at = static_cast<int64_t>(base); at >= 0 && at<32; at += n> 0 ? 1 : -1) {
    count += static_cast<int64_t>(mask >> at & 1);
    if (count == wanted && (mask >> at & 1) != 0) return static_cast<u64>(at);
  }
  return ~u64{0};
}

// As the ISA's loop says it: bit by bit.
u64 extract(IntType t, u64 x, u64 position, u64 length) {
  position &= 0xff, length &= 0xff;
  const u64 msb = static_cast<u64>(t.bits - 1);
  u64 sign = 0;
  if (t.is_signed && length != 0) sign = x >> std::min(position + length - 1, msb) & 1;
  u64 out = 0;
  for (u64 i = 0; i <= msb; ++i)
    out |= (i < length && position + i <= msb ? x >> (position + i) & 1 : sign) << i;
  return out;
}
u64 insert(int bits, u64 x, u64 into, u64 position, u64 length) {
  position &= 0xff, length &= 0xff;
  for (u64 i = 0; i < length && position + i < static_cast<u64>(bits); ++i) {
    const u64 at = u64{1} << (position + i);
    into = (into & ~at) | ((x >> i & 1) != 0 ? at : 0);
  }
  return into;
}

u64 bit_mask(u64 a, u64 b, bool clamp) {
  u64 out = 0;
  if (!clamp) a &= 31, b &= 31;
  for (u64 i = a; i < std::min<u64>(a + std::min<u64>(b, 32), 32) && a < 32; ++i)
    out |= u64{1} << i;
  return out;
}
u64 extend(IntType t, u64 a, u64 n, bool clamp) {
  if (!clamp) n &= 31;
  if (n == 0) return 0;
  return n >= 32 ? a : cut(IntType{t.is_signed, static_cast<int>(n)}.value(a));
}

std::optional<Reference> bit_fields(const Form& form, IntType t) {
  const std::string& op = form.opcode;
  const bool clamp = form.has("clamp"), amount = form.has("shiftamt");
  if (op == "popc" || op == "clz")
    return plain(
        [=, leading = op == "clz"](const Sources& s) { return count_bits(s[0], t.bits, leading); });
  if (op == "bfind") return plain([=](const Sources& s) { return find_leading(t, s[0], amount); });
  if (op == "fns")
    return plain([](const Sources& s) { return find_nth(s[0], s[1], static_cast<int32_t>(s[2])); });
  if (op == "brev")
    return plain([=](const Sources& s) {
      u64 out = 0;
      for (int i = 0; i < t.bits; ++i) out |= (s[0] >> i & 1) << (t.bits - 1 - i);
      return out;
    });
  if (op == "bfe") return plain([=](const Sources& s) { return extract(t, s[0], s[1], s[2]); });
  if (op == "bfi")
    return plain([=](const Sources& s) { return insert(t.bits, s[0], s[1], s[2], s[3]); });
  if (op == "bmsk") return plain([=](const Sources& s) { return bit_mask(s[0], s[1], clamp); });
  if (op == "szext") return plain([=](const Sources& s) { return extend(t, s[0], s[1], clamp); });
  return std::nullopt;
}

std::optional<Reference> dots(const Form& form) {
  if (form.opcode != "dp4a" && form.opcode != "dp2a") return std::nullopt;
  const bool four = form.opcode == "dp4a";
  const IntType a{form.last(1)[0] == 's', four ? 8 : 16}, b{form.last()[0] == 's', 8};
  const int skip = form.has("hi") ? 2 : 0;
  return plain([=](const Sources& s) {
    Wide total = static_cast<Wide>(s[2]);
    for (int i = 0; i < (four ? 4 : 2); ++i)
      total += a.value(s[0] >> (i * a.bits)) * b.value(s[1] >> ((i + skip) * 8));
    return cut(total);
  });
}

std::optional<Reference> differences(const Form& form) {
  if (form.opcode.substr(0, 8) != "vabsdiff") return std::nullopt;
  const int bits = form.opcode == "vabsdiff4" ? 8 : 16;
  const bool adds = form.has("add");
  const IntType t{form.modifiers[2][0] == 's', bits};
  return plain([=](const Sources& s) {
    u64 side_by_side = 0, total = s[2];
    for (int at = 0; at < 32; at += bits) {
      const Wide d = t.value(s[0] >> at) - t.value(s[1] >> at);
      const u64 size = cut(greater(d, -d));
      side_by_side |= (size & ((u64{1} << bits) - 1)) << at;
      total += size;
    }
    return adds ? total : side_by_side;
  });
}

// The test puts a sum (difference) with carry out before, and adds (subtracts) the carry out after.
std::optional<Reference> carries(const Form& form, IntType t) {
  const bool reads = form.opcode.size() == 4 && form.opcode.back() == 'c' && form.opcode != "popc",
             writes = form.has("cc"), is_mad = form.opcode.substr(0, 3) == "mad";
  if (!reads && !writes) return std::nullopt;
  const bool subtracts = form.opcode.substr(0, 3) == "sub";
  const IntType u{false, t.bits};
  const Wide base = Wide{1} << t.bits;
  return plain([=](const Sources& s) {
    const Wide before = subtracts ? u.value(s[0]) - u.value(s[1]) : u.value(s[0]) + u.value(s[1]);
    const Wide in = reads && (before < 0 || before >= base) ? 1 : 0;
    Wide x = u.value(s[0]), y = u.value(s[1]);
    if (is_mad) x = u.value(cut(product(form, t, t.value(s[0]), t.value(s[1])))), y = u.value(s[2]);
    const Wide result = subtracts ? x - y - in : x + y + in;
    const Wide out = writes && (result < 0 || result >= base) ? 1 : 0;
    return cut(subtracts ? result - out : result + out);
  });
}

}  // namespace

std::optional<Reference> integer_reference(const Form& form) {
  if (auto found = pairs(form)) return found;
  if (auto found = dots(form)) return found;
  if (auto found = differences(form)) return found;
  const auto type = int_type(form.last());
  if (!type) return std::nullopt;
  const IntType t = *type;
  if (auto found = carries(form, t)) return found;
  if (auto found = unary(form, t)) return found;
  if (auto found = bit_fields(form, t)) return found;
  const std::string& op = form.opcode;
  if (op == "mul" || op == "mad" || op == "mul24" || op == "mad24") return products(form, t);
  if (op == "sad")
    return plain([=](const Sources& s) {
      const Wide d = t.value(s[0]) - t.value(s[1]);
      return cut(t.value(s[2]) + greater(d, -d));
    });
  const Binary f = binary_of(op);
  if (f == nullptr) return std::nullopt;
  const bool saturates = form.has("sat"), relu = form.has("relu");
  return plain([=](const Sources& s) {
    const Wide x = f(t.value(s[0]), t.value(s[1]));
    return cut(saturates ? t.clamp(x) : relu ? greater(x, 0) : x);
  });
}

}  // namespace gacer::simdevice::test
