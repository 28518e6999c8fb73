// SPDX-License-Identifier: Apache-2.0
// cvt and cvta: integers pass through a 64-bit container, floats through the rows of their types.
#include "runtime/simdevice/exec/block.h"
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/warp_ops.h"

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
  const auto from = ptx::type_from(in.modifiers.back());
  const auto to = ptx::type_from(in.modifiers[in.modifiers.size() - 2]);
  if (!from || !to || !knows_modifiers(in) || in.has("satfinite"))
    return fail(in, "is not supported");
  if (*to == Type::kF16x2 || *to == Type::kBf16x2) return convert_packed(in, *to);
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
  std::string round = rounding(in);
  const bool to_integral = round.size() == 3 && round != "rna";
  if (to_integral) {
    if (!step("cvt." + round + "." + name_of(from) + "." + name_of(from), bits_of_type(from)))
      return false;
    round = "";
  }
  if (in.has("relu") && from == Type::kF32 && !step("relu.f32", 32)) return false;
  if (to != from && !step(with_rounding(round) + name_of(to) + "." + name_of(from), to_bits))
    return false;
  if (in.has("ftz") && to == Type::kF32 && from == Type::kF64 && !step("flush.f32", 32))
    return false;
  if (in.has("sat") && !step("saturate." + name_of(to), to_bits)) return false;
  return emit_lane(in, "mov.b" + std::to_string(to_bits), destination(in.operands[0], to_bits),
                   {value});
}

// cvt.rn.f16x2.f32 d, a, b: a is the upper half.
bool FunctionLowering::convert_packed(const Instruction& in, Type to) {
  if (!expect_operands(in, 3, 3) || !in.has("f32") || !rounding(in).empty())
    return fail(in, "is not supported");
  Ref halves[2] = {source(in.operands[1], 32, true), source(in.operands[2], 32, true)};
  if (in.has("relu"))
    for (Ref& half : halves) {
      const Ref cut = temp(32);
      if (!emit_lane(in, "relu.f32", cut, {half})) return false;
      half = cut;
    }
  return emit_lane(in, "cvt." + name_of(to) + ".f32", destination(in.operands[0], 32),
                   {halves[0], halves[1]});
}

// Generic addresses of shared, local and parameter memory are offsets plus the window's base;
// global and constant ones are the same in both.
bool FunctionLowering::lower_cvta(const Instruction& in) {
  if (!expect_operands(in, 2, 2) || in.modifiers.size() < 2) return fail(in, "is malformed");
  const bool to = in.modifiers[0] == "to";
  const std::string& space = in.modifiers[to ? 1 : 0];
  if (in.modifiers.back() != "u64") return fail(in, "is not supported: only 64-bit addresses");
  uint64_t base = 0;
  if (space == "shared" || space == "shared::cta") {
    base = kSharedWindow;
  } else if (space == "local" ||
             ((space == "param" || space == "param::func") && !source_.is_entry)) {
    base = kLocalWindow;
  } else if (space == "param" || space == "param::entry") {
    base = kParamWindow;
  } else if (space != "global" && space != "const") {
    return fail(in, "is not supported");
  }
  Instruction move = in;  // a symbol may stand here: take its address first
  Ref from = source(in.operands[1], 64, false);
  if (!from.used()) {
    const std::string name = in.operands[1].name;
    const Symbol* symbol = find(name);
    if (symbol == nullptr ||
        (symbol->kind != SymbolKind::kFrame && symbol->kind != SymbolKind::kDynamicShared))
      return fail(in, "has a source operand of the wrong kind or width");
    const std::string holder = "%gacer_cvta";
    scopes_.front().names[holder] = {SymbolKind::kRegister, new_register(64), 0, 0};
    move.opcode = "mov";
    move.modifiers = {"u64"};
    move.operands[0].name = holder;
    if (!lower_mov(move)) return false;
    from = source(move.operands[0], 64, false);
  }
  const Ref dst = destination(in.operands[0], 64);
  if (base == 0) return emit_lane(in, "mov.b64", dst, {from});
  return emit_lane(in, "add.b64", dst, {from, constant(to ? 0 - base : base, 64)});
}

bool FunctionLowering::lower_isspacep(const Instruction& in) {
  if (!expect_operands(in, 2, 2) || in.modifiers.size() != 1) return fail(in, "is malformed");
  const std::string& space = in.modifiers[0];
  MemSpace wanted = MemSpace::kGlobal;
  if (space == "shared" || space == "shared::cta" || space == "shared::cluster") {
    wanted = MemSpace::kShared;
  } else if (space == "local") {
    wanted = MemSpace::kLocal;
  } else if (space == "param" || space == "param::entry") {
    wanted = MemSpace::kParam;
  } else if (space != "global") {
    return fail(in, "is not supported");
  }
  const Ref dst = destination(in.operands[0], 1), a = source(in.operands[1], 64, false);
  if (!dst.used() || !a.used()) return fail(in, "has operands of the wrong kind or width");
  Insn& insn = emit_handler(in, isspace_handler);
  insn.dst = dst;
  insn.a = a;
  insn.space = wanted;
  count_pipe(Pipe::kInt);
  return true;
}

}  // namespace gacer::simdevice
