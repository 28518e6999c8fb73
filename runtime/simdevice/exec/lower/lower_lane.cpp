// SPDX-License-Identifier: Apache-2.0
// Arithmetic that is a row of the lane table, and sums with carries.
#include <algorithm>

#include "runtime/simdevice/exec/lower/lowering.h"

namespace gacer::simdevice {
namespace {

// Operations that do not see the sign: s32 and u32 mean b32.
constexpr std::string_view kSignless[] = {"add", "sub", "neg",  "not",  "cnot", "and", "or",
                                          "xor", "shl", "abs",  "selp", "popc", "clz", "brev",
                                          "bfi", "mov", "lop3", "prmt", "shf"};

bool is_signless(const ptx::Instruction& in) {
  if (in.opcode == "mul" || in.opcode == "mad") return in.has("lo");
  if (in.has("sat")) return false;
  return std::find(std::begin(kSignless), std::end(kSignless), in.opcode) != std::end(kSignless);
}

bool is_integer(ptx::Type t) {
  return t >= ptx::Type::kB8 && t <= ptx::Type::kS64;
}

// Modifiers that do not change what is computed here: only div's approximation has a domain of its
// own.
bool is_dropped(const ptx::Instruction& in, std::string_view m) {
  return m == "rn" || m == "full" || (m == "approx" && in.opcode != "div");
}

std::string bits_name(ptx::Type t) {
  return "b" + std::to_string(ptx::type_bytes(t) * 8);
}

std::string canonical_type(const ptx::Instruction& in, ptx::Type type, bool signless) {
  const bool moves_bits = in.opcode == "selp" || in.opcode == "slct" || in.opcode == "mov";
  if (moves_bits || (signless && is_integer(type))) return bits_name(type);
  // shr, min ... see signs; untyped bits are unsigned.
  if (in.opcode == "shr" && type >= ptx::Type::kB8 && type <= ptx::Type::kB64)
    return "u" + std::to_string(ptx::type_bytes(type) * 8);
  return std::string(ptx::type_name(type));
}

// "mul.lo.b32", "fma.ftz.f32": the row's name.
std::string row_name(const ptx::Instruction& in) {
  const bool signless = is_signless(in);
  const bool is_float_mad = in.opcode == "mad" && !in.has("lo") && !in.has("hi") && !in.has("wide");
  std::string name = is_float_mad ? "fma" : in.opcode;
  size_t types = 0;
  for (const auto& m : in.modifiers) {
    const auto type = ptx::type_from(m);
    if (!type) {
      if (!is_dropped(in, m)) name += "." + m;
      continue;
    }
    // slct.T.s32: the second type is that of the selector.
    const bool is_selector = in.opcode == "slct" && types > 0;
    name += "." + (is_selector ? m : canonical_type(in, *type, signless));
    ++types;
  }
  return name;
}

bool is_float_row(const ptx::Instruction& in) {
  for (const auto& m : in.modifiers)
    if (m == "f32" || m == "f64") return true;
  return false;
}

}  // namespace

bool FunctionLowering::lower_lane(const Instruction& in) {
  const std::string name = row_name(in);
  const LaneOp* op = find_lane_op(name);
  if (op == nullptr) return fail(in, "is not supported");
  size_t count = 0;
  while (count < 4 && op->src_bits[count] != 0) ++count;
  if (!expect_operands(in, count + 1, count + 1)) return false;
  const Ref dst = destination(in.operands[0], op->dst_bits);
  Ref sources[4];
  for (size_t i = 0; i < count; ++i) {
    sources[i] = source(in.operands[i + 1], op->src_bits[i], is_float_row(in));
    if (!sources[i].used()) return fail(in, "has a source operand of the wrong kind or width");
  }
  if (!emit_lane(in, name, dst, {})) return false;
  Insn& insn = out_.insns.back();
  insn.a = sources[0], insn.b = sources[1], insn.c = sources[2], insn.e = sources[3];
  return true;
}

// add.cc, addc, sub.cc, subc, mad.lo.cc, madc ...: the carry is a register of 0 or 1 a lane.
bool FunctionLowering::lower_carry(const Instruction& in) {
  const bool is_mad = in.opcode == "mad" || in.opcode == "madc";
  const bool is_sub = in.opcode == "sub" || in.opcode == "subc";
  const bool reads = in.opcode == "addc" || in.opcode == "subc" || in.opcode == "madc";
  const auto type = in.modifiers.empty() ? std::nullopt : ptx::type_from(in.modifiers.back());
  if (!type || !is_integer(*type) || ptx::type_bytes(*type) < 4 ||
      !expect_operands(in, is_mad ? 4 : 3, is_mad ? 4 : 3))
    return fail(in, "is malformed");
  const uint32_t bits = ptx::type_bytes(*type) * 8;
  const std::string width = std::to_string(bits);
  if (!carry_.used()) carry_ = temp(32);
  const Ref carry_in = reads ? carry_ : constant(0, 32);
  Ref a = source(in.operands[1], bits, false), b = source(in.operands[2], bits, false);
  if (is_mad) {
    const Ref product = temp(bits);
    const std::string row =
        in.has("hi") ? "mul.hi." + std::string(ptx::type_name(*type)) : "mul.lo.b" + width;
    if (!emit_lane(in, row, product, {a, b})) return false;
    a = product;
    b = source(in.operands[3], bits, false);
  }
  const std::string row = is_sub ? "subc" : "addc";
  const Ref result = temp(bits), carry_out = temp(32);
  if (!emit_lane(in, row + ".b" + width, result, {a, b, carry_in})) return false;
  if (in.has("cc")) {
    if (!emit_lane(in, row + ".out.b" + width, carry_out, {a, b, carry_in})) return false;
    if (!emit_lane(in, "mov.b32", carry_, {carry_out})) return false;
  }
  return emit_lane(in, "mov.b" + width, destination(in.operands[0], bits), {result});
}

}  // namespace gacer::simdevice
