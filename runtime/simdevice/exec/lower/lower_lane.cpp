// SPDX-License-Identifier: Apache-2.0
// Arithmetic that is a row of the lane table, moves, and predicate logic.
#include <algorithm>

#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/memory_access.h"
#include "runtime/simdevice/exec/specials.h"
#include "runtime/simdevice/exec/warp_ops.h"

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

// Modifiers that do not change what is computed here.
bool is_dropped(std::string_view m) {
  return m == "rn" || m == "approx" || m == "full";
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
      if (!is_dropped(m)) name += "." + m;
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

bool FunctionLowering::lower_mov(const Instruction& in) {
  if (!expect_operands(in, 2, 2) || in.modifiers.empty()) return fail(in, "is malformed");
  const auto type = ptx::type_from(in.modifiers.back());
  if (!type) return fail(in, "needs a type");
  if (*type == ptx::Type::kPred) return lower_predicate_logic(in);
  const uint32_t bits = ptx::type_bytes(*type) * 8;
  if (in.operands[0].kind == Operand::Kind::kVector) return lower_unpack(in, bits);
  if (in.operands[1].kind == Operand::Kind::kVector) return lower_pack(in, bits);
  if (bits > 64) return fail(in, "is not supported");
  const Operand& from = in.operands[1];
  const Ref dst = destination(in.operands[0], bits);
  const std::string row = "mov.b" + std::to_string(bits);
  const Symbol* symbol = from.kind == Operand::Kind::kName ? find(from.name) : nullptr;
  if (symbol == nullptr && from.kind == Operand::Kind::kName) {
    if (const auto info = special_from(from.name)) {
      if (info->id >= Special::kClock) {
        if (info->bits != bits || !dst.used()) return fail(in, "has operands of the wrong width");
        Insn& insn = emit_handler(in, clock_handler);
        insn.dst = dst;
        insn.mode = static_cast<uint8_t>(info->id);
        return true;
      }
      if (bits == 16 && info->bits == 32)
        return emit_lane(in, "low.b32", dst, {special(from.name, 32)});
      if (bits == 64 && info->bits == 32)
        return emit_lane(in, "cvt.u64.u32", dst, {special(from.name, 32)});
    }
  }
  const int64_t addend = symbol != nullptr ? addend_of(from, *symbol) : 0;
  if (symbol != nullptr && symbol->kind == SymbolKind::kDynamicShared) {
    needs_.dynamic_shared = true;
    Ref base = special("%gacer_dynamic_shared", 32);
    if (addend != 0) {
      const Ref sum = temp(32);
      if (!emit_lane(in, "add.b32", sum, {base, constant(static_cast<uint64_t>(addend), 32)}))
        return false;
      base = sum;
    }
    return emit_lane(in, bits == 64 ? "cvt.u64.u32" : "mov.b32", dst, {base});
  }
  if (symbol != nullptr && symbol->kind == SymbolKind::kFrame) {
    if (!dst.used() || bits < 32) return fail(in, "has a destination of the wrong width");
    Insn& insn = emit_handler(in, local_address_handler);
    insn.dst = dst;
    insn.wide_address = bits == 64;
    insn.imm = static_cast<int64_t>(symbol->offset) + addend;
    return true;
  }
  return emit_lane(in, row, dst,
                   {source(from, bits, *type == ptx::Type::kF32 || *type == ptx::Type::kF64)});
}

// parts[0] is the lowest.
Ref FunctionLowering::pack(const Instruction& in, const std::vector<Ref>& parts,
                           uint32_t part_bits) {
  if (parts.size() == 1) return parts[0];
  std::vector<Ref> wider;
  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    wider.push_back(temp(part_bits * 2));
    if (!emit_lane(in, "pack.b" + std::to_string(part_bits * 2), wider.back(),
                   {parts[i], parts[i + 1]}))
      return {};
  }
  return pack(in, wider, part_bits * 2);
}

bool FunctionLowering::lower_pack(const Instruction& in, uint32_t bits) {
  const auto& elements = in.operands[1].elements;
  const uint32_t part_bits = elements.empty() ? 0 : bits / static_cast<uint32_t>(elements.size());
  if ((elements.size() != 2 && elements.size() != 4) || part_bits < 16 || bits > 64)
    return fail(in, "packs what is not supported");
  std::vector<Ref> parts;
  for (const auto& e : elements) {
    parts.push_back(source(e, part_bits, false));
    if (!parts.back().used()) return fail(in, "has a source operand of the wrong kind or width");
  }
  const Ref whole = pack(in, parts, part_bits);
  return emit_lane(in, "mov.b" + std::to_string(bits), destination(in.operands[0], bits), {whole});
}

void FunctionLowering::unpack(const Instruction& in, Ref from, uint32_t bits,
                              std::vector<Ref>& parts, uint32_t part_bits) {
  if (bits == part_bits) {
    parts.push_back(from);
    return;
  }
  for (const char* half : {"low.b", "high.b"}) {
    const Ref part = temp(bits / 2);
    if (!emit_lane(in, half + std::to_string(bits), part, {from})) return;
    unpack(in, part, bits / 2, parts, part_bits);
  }
}

bool FunctionLowering::lower_unpack(const Instruction& in, uint32_t bits) {
  const auto& elements = in.operands[0].elements;
  const uint32_t part_bits = elements.empty() ? 0 : bits / static_cast<uint32_t>(elements.size());
  if ((elements.size() != 2 && elements.size() != 4) || part_bits < 16 || bits > 64)
    return fail(in, "unpacks what is not supported");
  const Ref from = source(in.operands[1], bits, false);
  if (!from.used()) return fail(in, "has a source operand of the wrong kind or width");
  std::vector<Ref> parts;
  unpack(in, from, bits, parts, part_bits);
  if (parts.size() != elements.size()) return fail(in, "is not supported");
  for (size_t i = 0; i < parts.size(); ++i) {
    if (elements[i].kind == Operand::Kind::kName && elements[i].name == "_") continue;
    if (!emit_lane(in, "mov.b" + std::to_string(part_bits), destination(elements[i], part_bits),
                   {parts[i]}))
      return false;
  }
  return true;
}

bool FunctionLowering::lower_predicate_logic(const Instruction& in) {
  const bool unary = in.opcode == "mov" || in.opcode == "not";
  if (!expect_operands(in, unary ? 2 : 3, unary ? 2 : 3)) return false;
  Insn insn;
  const Ref dst = destination(in.operands[0], 1);
  const auto operand = [&](const Operand& o, bool& negated) -> Ref {
    negated = o.negated;
    return o.kind == Operand::Kind::kName ? predicate(o.name) : Ref{};
  };
  bool a_negated = false, b_negated = false;
  Ref a = operand(in.operands[1], a_negated);
  if (in.operands[1].kind == Operand::Kind::kImmediate) {  // mov.pred p, 1
    a = Ref::make(Bank::kConst, constant(in.operands[1].offset->bits != 0 ? ~0u : 0u, 32).offset());
  }
  const Ref b = unary ? a : operand(in.operands[2], b_negated);
  if (!dst.used() || !a.used() || !b.used())
    return fail(in, "has an operand that is not a predicate");
  Insn& out = emit_handler(in, predicate_handler);
  out.dst = dst;
  out.a = a;
  out.b = b;
  const auto op = in.opcode == "or"    ? BoolOp::kOr
                  : in.opcode == "xor" ? BoolOp::kXor
                                       : BoolOp::kAnd;
  out.bool_op = op;
  out.mode = static_cast<uint8_t>((a_negated ? 1 : 0) | (b_negated ? 2 : 0));
  if (unary && (in.opcode == "not")) out.mode ^= 3;
  if (unary && a_negated) out.mode = in.opcode == "not" ? 0 : 3;
  count_pipe(Pipe::kInt);
  return true;
}

namespace {

std::string comparison_row(std::string_view op, ptx::Type type, bool ftz) {
  if (op == "lo") op = "lt";
  if (op == "ls") op = "le";
  if (op == "hi") op = "gt";
  if (op == "hs") op = "ge";
  std::string name(ptx::type_name(type));
  if (name[0] == 'b' && name.compare(0, 2, "bf") != 0) name[0] = 'u';
  return std::string(op) + (ftz && name == "f32" ? ".ftz." : ".") + name;
}

std::optional<BoolOp> bool_op_from(std::string_view word) {
  if (word == "and") return BoolOp::kAnd;
  if (word == "or") return BoolOp::kOr;
  if (word == "xor") return BoolOp::kXor;
  return std::nullopt;
}

}  // namespace

bool FunctionLowering::lower_setp(const Instruction& in) {
  if (in.modifiers.size() < 2 || !expect_operands(in, 3, 4)) return fail(in, "is malformed");
  const auto type = ptx::type_from(in.modifiers.back());
  const auto bool_op = bool_op_from(in.modifiers[1]);
  if (!type || bool_op.has_value() != (in.operands.size() == 4)) return fail(in, "is malformed");
  const bool packed = *type == ptx::Type::kF16x2 || *type == ptx::Type::kBf16x2;
  const Operand& to = in.operands[0];
  const uint32_t bits = ptx::type_bytes(*type) * 8;
  const bool is_float = *type == ptx::Type::kF32 || *type == ptx::Type::kF64;
  const Ref a = source(in.operands[1], bits, is_float), b = source(in.operands[2], bits, is_float);
  const std::string row = comparison_row(in.modifiers[0], *type, in.has("ftz"));
  for (int half = 0; half < (packed ? 2 : 1); ++half) {
    const CompareOp* op = find_compare_op(packed ? row + (half == 0 ? ".low" : ".high") : row);
    if (op == nullptr) return fail(in, "is not supported");
    if (!a.used() || !b.used()) return fail(in, "has a source operand of the wrong kind or width");
    Insn insn;
    const auto dst = [&](const std::string& name) {
      return name == "_" ? temp(1) : predicate(name);
    };
    insn.dst = dst(packed && half == 1 ? to.second : to.name);
    if (!packed && !to.second.empty()) insn.dst2 = dst(to.second);
    if (!insn.dst.used() || (!packed && !to.second.empty() && !insn.dst2.used()))
      return fail(in, "has a destination that is not a predicate");
    if (bool_op) {
      insn.bool_op = *bool_op;
      insn.c = in.operands[3].kind == Operand::Kind::kName ? predicate(in.operands[3].name) : Ref{};
      insn.c_negated = in.operands[3].negated;
      if (!insn.c.used()) return fail(in, "has an operand that is not a predicate");
    }
    Insn& out = emit(in);
    out.kind = InsnKind::kCompare;
    out.compare = op->fn;
    out.dst = insn.dst, out.dst2 = insn.dst2, out.a = a, out.b = b, out.c = insn.c;
    out.bool_op = insn.bool_op, out.c_negated = insn.c_negated;
    count_pipe(op->pipe);
  }
  return true;
}

// set.cmp.bool.dtype.stype d, a, b, c
bool FunctionLowering::lower_set(const Instruction& in) {
  if (in.modifiers.size() < 3 || !expect_operands(in, 3, 4)) return fail(in, "is malformed");
  const auto type = ptx::type_from(in.modifiers.back());
  const auto to = ptx::type_from(in.modifiers[in.modifiers.size() - 2]);
  const auto bool_op = bool_op_from(in.modifiers[1]);
  if (!type || !to || bool_op.has_value() != (in.operands.size() == 4))
    return fail(in, "is malformed");
  const bool is_float = *type == ptx::Type::kF32 || *type == ptx::Type::kF64;
  const uint32_t bits = ptx::type_bytes(*type) * 8;
  const CompareOp* op = find_compare_op(comparison_row(in.modifiers[0], *type, in.has("ftz")));
  if (op == nullptr || (*to != ptx::Type::kF32 && *to != ptx::Type::kU32 && *to != ptx::Type::kS32))
    return fail(in, "is not supported");
  const Ref a = source(in.operands[1], bits, is_float), b = source(in.operands[2], bits, is_float);
  const Ref c = bool_op ? predicate(in.operands[3].name) : Ref{};
  if (!a.used() || !b.used() || (bool_op && !c.used()))
    return fail(in, "has a source operand of the wrong kind or width");
  const Ref mask = temp(1);
  Insn& out = emit(in);
  out.kind = InsnKind::kCompare;
  out.compare = op->fn;
  out.dst = mask, out.a = a, out.b = b, out.c = c;
  out.bool_op = bool_op.value_or(BoolOp::kNone);
  out.c_negated = bool_op && in.operands[3].negated;
  count_pipe(op->pipe);
  return emit_lane(in, *to == ptx::Type::kF32 ? "mask.f32" : "mask.b32",
                   destination(in.operands[0], 32), {mask});
}

bool FunctionLowering::lower_testp(const Instruction& in) {
  if (in.modifiers.size() != 2 || !expect_operands(in, 2, 2)) return fail(in, "is malformed");
  const CompareOp* op = find_compare_op(in.modifiers[0] + "." + in.modifiers[1]);
  if (op == nullptr) return fail(in, "is not supported");
  const Ref a = source(in.operands[1], op->src_bits, true), dst = destination(in.operands[0], 1);
  if (!a.used() || !dst.used()) return fail(in, "has an operand of the wrong kind or width");
  Insn& out = emit(in);
  out.kind = InsnKind::kCompare;
  out.compare = op->fn;
  out.dst = dst, out.a = a, out.b = a;
  count_pipe(op->pipe);
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
