// SPDX-License-Identifier: Apache-2.0
// cvt: integers pass through a 64-bit container, floats through the rows of their types.
#include "runtime/simdevice/exec/lower/lowering.h"

namespace gacer::simdevice {
namespace {

using ptx::Type;

bool is_integer(Type t) {
  return t >= Type::kB8 && t <= Type::kS64;
}
std::string name_of(Type t) {
  return std::string(ptx::type_name(t));
}
uint32_t bits_of_type(Type t) {
  return ptx::type_bytes(t) * 8;
}

std::string integer_name(Type t) {
  std::string name = name_of(t);
  if (name[0] == 'b') name[0] = 'u';
  return name;
}

// "rz", "rzi" ... or "" for nearest or none.
std::string rounding(const ptx::Instruction& in) {
  for (const auto& m : in.modifiers)
    if (m == "rz" || m == "rm" || m == "rp" || m == "rzi" || m == "rmi" || m == "rpi" ||
        m == "rni" || m == "rna")
      return m;
  return "";
}

std::string with_rounding(const std::string& round) {
  return round.empty() ? "cvt." : "cvt." + round + ".";
}

// "cvt.rz.satfinite.f16.f32" without its types.
std::string cvt_prefix(const ptx::Instruction& in) {
  return with_rounding(rounding(in)) + (in.has("satfinite") ? "satfinite." : "");
}

bool is_eight_bit(Type t) {
  return t == Type::kE4m3x2 || t == Type::kE5m2x2;
}
bool is_packed(Type t) {
  return t == Type::kF16x2 || t == Type::kBf16x2;
}

bool knows_modifiers(const ptx::Instruction& in) {
  for (const auto& m : in.modifiers)
    if (!ptx::type_from(m) && m != "rn" && m != "sat" && m != "ftz" && m != "relu" &&
        m != "satfinite" && m != rounding(in))
      return false;
  return true;
}

}  // namespace

bool FunctionLowering::lower_cvt(const Instruction& in) {
  if (in.modifiers.size() < 2 || in.operands.size() < 2) return fail(in, "is malformed");
  if (in.modifiers[0] == "pack") return lower_lane(in);
  const auto from = ptx::type_from(in.modifiers.back());
  const auto to = ptx::type_from(in.modifiers[in.modifiers.size() - 2]);
  if (!from || !to || !knows_modifiers(in)) return fail(in, "is not supported");
  if (is_eight_bit(*to) || is_eight_bit(*from)) return convert_eight_bit(in, *to, *from);
  if (in.has("satfinite") && (*from != Type::kF32 || is_integer(*to)))
    return fail(in, "is not supported");
  if (is_packed(*to)) return convert_packed(in, *to);
  if (!expect_operands(in, 2, 2)) return false;
  if (is_integer(*to))
    return is_integer(*from) ? convert_int(in, *to, *from) : convert_from_float(in, *to, *from);
  return is_integer(*from) ? convert_to_float(in, *to, *from) : convert_float(in, *to, *from);
}

// The value of `type` in the low bits of the register, extended to 64 bits.
Ref FunctionLowering::to_container(const Instruction& in, const Operand& operand, Type type) {
  uint32_t width = width_of(operand);
  if (width == 0)
    width =
        operand.kind == Operand::Kind::kImmediate ? 64 : std::max<uint32_t>(16, bits_of_type(type));
  const Ref from = source(operand, width, false);
  const Ref container = temp(64);
  if (!emit_lane(in, "ext." + integer_name(type) + ".r" + std::to_string(width), container, {from}))
    return {};
  return container;
}

bool FunctionLowering::from_container(const Instruction& in, Ref container, const Operand& operand,
                                      Type type) {
  const uint32_t width = operand.name == "_" ? 64 : width_of(operand);
  return emit_lane(in, "trunc." + integer_name(type) + ".r" + std::to_string(width),
                   destination(operand, width), {container});
}

bool FunctionLowering::convert_int(const Instruction& in, Type to, Type from) {
  const std::string direct = "cvt." + integer_name(to) + "." + integer_name(from);
  const uint32_t to_bits = bits_of_type(to), from_bits = bits_of_type(from);
  if (!in.has("sat") && width_of(in.operands[0]) == to_bits &&
      width_of(in.operands[1]) == from_bits) {
    // Only a widening sees a sign, and only the source's.
    std::string row = direct;
    if (to_bits == from_bits) row = "mov.b" + std::to_string(to_bits);
    if (to_bits < from_bits)
      row = "cvt.u" + std::to_string(to_bits) + ".u" + std::to_string(from_bits);
    if (to_bits > from_bits) {
      const std::string sign = ptx::is_signed(from) ? "s" : "u";
      row = "cvt." + sign + std::to_string(to_bits) + "." + sign + std::to_string(from_bits);
    }
    if (find_lane_op(row) != nullptr)
      return emit_lane(in, row, destination(in.operands[0], to_bits),
                       {source(in.operands[1], from_bits, false)});
  }
  Ref container = to_container(in, in.operands[1], from);
  if (!container.used()) return false;
  if (in.has("sat")) {
    const Ref clamped = temp(64);
    if (!emit_lane(in, "sat." + integer_name(to) + (ptx::is_signed(from) ? ".s64" : ".u64"),
                   clamped, {container}))
      return false;
    container = clamped;
  }
  return from_container(in, container, in.operands[0], to);
}

bool FunctionLowering::convert_to_float(const Instruction& in, Type to, Type from) {
  const uint32_t bits = bits_of_type(from);
  Ref value;
  std::string kind = integer_name(from);
  if (bits >= 32 && width_of(in.operands[1]) == bits) {
    value = source(in.operands[1], bits, false);
  } else {
    value = to_container(in, in.operands[1], from);
    kind = ptx::is_signed(from) ? "s64" : "u64";
  }
  const Ref dst = destination(in.operands[0], bits_of_type(to));
  const std::string row = with_rounding(rounding(in)) + name_of(to) + "." + kind;
  if (!in.has("sat")) return emit_lane(in, row, dst, {value});
  const Ref plain = temp(bits_of_type(to));
  return emit_lane(in, row, plain, {value}) &&
         emit_lane(in, "saturate." + name_of(to), dst, {plain});
}

bool FunctionLowering::convert_from_float(const Instruction& in, Type to, Type from) {
  const uint32_t bits = bits_of_type(from);
  Ref value = source(in.operands[1], bits, true);
  if (from == Type::kBf16) {
    const Ref wide = temp(32);
    if (!emit_lane(in, "cvt.f32.bf16", wide, {value})) return false;
    value = wide;
    from = Type::kF32;
  }
  if (in.has("ftz") && from == Type::kF32) {
    const Ref flushed = temp(32);
    if (!emit_lane(in, "flush.f32", flushed, {value})) return false;
    value = flushed;
  }
  const std::string row = with_rounding(rounding(in)) + integer_name(to) + "." + name_of(from);
  const uint32_t to_bits = bits_of_type(to);
  if (to_bits >= 32 && width_of(in.operands[0]) == to_bits)
    return emit_lane(in, row, destination(in.operands[0], to_bits), {value});
  const Ref direct = temp(std::max<uint32_t>(to_bits, to_bits < 32 ? 64 : to_bits));
  if (!emit_lane(in, row, direct, {value})) return false;
  if (to_bits != 32) return from_container(in, direct, in.operands[0], to);
  const Ref container = temp(64);
  return emit_lane(in, "ext." + integer_name(to) + ".r32", container, {direct}) &&
         from_container(in, container, in.operands[0], to);
}

bool FunctionLowering::convert_float(const Instruction& in, Type to, Type from) {
  const uint32_t to_bits = bits_of_type(to);
  Ref value = source(in.operands[1], bits_of_type(from), true);
  const auto step = [&](const std::string& row, uint32_t bits) {
    const Ref result = temp(bits);
    if (!emit_lane(in, row, result, {value})) return false;
    value = result;
    return true;
  };
  if (in.has("ftz") && from == Type::kF32 && !step("flush.f32", 32)) return false;
  const std::string round = rounding(in);
  const bool to_integral = round.size() == 3 && round != "rna";
  if (to_integral && from == Type::kBf16) {  // small integers, exact in single precision
    if (!step("cvt.f32.bf16", 32)) return false;
    from = Type::kF32;
  }
  if (to_integral &&
      !step("cvt." + round + "." + name_of(from) + "." + name_of(from), bits_of_type(from)))
    return false;
  if (in.has("relu") && from == Type::kF32 && !step("relu.f32", 32)) return false;
  const std::string prefix = to_integral ? "cvt." : cvt_prefix(in);
  if (to != from && !step(prefix + name_of(to) + "." + name_of(from), to_bits)) return false;
  const bool may_be_subnormal = from == Type::kF64 || from == Type::kBf16;
  if (in.has("ftz") && to == Type::kF32 && may_be_subnormal && !step("flush.f32", 32)) return false;
  if (in.has("sat") && !step("saturate." + name_of(to), to_bits)) return false;
  return emit_lane(in, "mov.b" + std::to_string(to_bits), destination(in.operands[0], to_bits),
                   {value});
}

// cvt.rn.f16x2.f32 d, a, b: a is the upper half.
bool FunctionLowering::convert_packed(const Instruction& in, Type to) {
  if (!expect_operands(in, 3, 3) || !in.has("f32")) return fail(in, "is not supported");
  Ref halves[2] = {source(in.operands[1], 32, true), source(in.operands[2], 32, true)};
  const auto step = [&](const std::string& row, Ref& value, uint32_t bits) {
    const Ref result = temp(bits);
    if (!emit_lane(in, row, result, {value})) return false;
    value = result;
    return true;
  };
  for (Ref& half : halves)
    if (in.has("relu") && !step("relu.f32", half, 32)) return false;
  const Ref dst = destination(in.operands[0], 32);
  if (rounding(in).empty() && !in.has("satfinite"))
    return emit_lane(in, "cvt." + name_of(to) + ".f32", dst, {halves[0], halves[1]});
  const std::string row = cvt_prefix(in) + (to == Type::kF16x2 ? "f16.f32" : "bf16.f32");
  return step(row, halves[0], 16) && step(row, halves[1], 16) &&
         emit_lane(in, "pack.b32", dst, {halves[1], halves[0]});
}

// cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b; .e4m3x2.f16x2 d, a; .f16x2.e4m3x2 d, a
bool FunctionLowering::convert_eight_bit(const Instruction& in, Type to, Type from) {
  const bool to_small = is_eight_bit(to), from_singles = from == Type::kF32;
  if (in.has("satfinite") != to_small || !rounding(in).empty() || in.has("sat") || in.has("ftz"))
    return fail(in, "is not supported");
  if (!expect_operands(in, from_singles ? 3 : 2, from_singles ? 3 : 2)) return false;
  const std::string row =
      (in.has("relu") ? "cvt.relu." : "cvt.") + name_of(to) + "." + name_of(from);
  const Ref dst = destination(in.operands[0], to_small ? 16 : 32);
  const Ref a = source(in.operands[1], to_small ? 32 : 16, from_singles);
  if (!from_singles) return emit_lane(in, row, dst, {a});
  return emit_lane(in, row, dst, {a, source(in.operands[2], 32, true)});
}

}  // namespace gacer::simdevice
