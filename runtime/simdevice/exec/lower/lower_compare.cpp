// SPDX-License-Identifier: Apache-2.0
// Comparisons and what is computed with predicates.
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {

// p, !p, or a literal: all lanes alike.
Ref FunctionLowering::predicate_operand(const Operand& operand) {
  if (operand.kind == Operand::Kind::kImmediate)
    return constant(operand.offset->bits != 0 ? ~0u : 0u, 32);
  return operand.kind == Operand::Kind::kName ? predicate(operand.name) : Ref{};
}

// and, or, xor, not and mov of predicates.
bool FunctionLowering::lower_predicate_logic(const Instruction& in) {
  const bool unary = in.opcode == "mov" || in.opcode == "not";
  if (!expect_operands(in, unary ? 2 : 3, unary ? 2 : 3)) return false;
  const Operand &first = in.operands[1], &second = in.operands[unary ? 1 : 2];
  const Ref dst = destination(in.operands[0], 1), a = predicate_operand(first),
            b = predicate_operand(second);
  if (!dst.used() || !a.used() || !b.used())
    return fail(in, "has an operand that is not a predicate");
  Insn& insn = emit_handler(in, predicate_handler);
  insn.dst = dst, insn.a = a, insn.b = b;
  insn.bool_op = in.opcode == "or" ? BoolOp::kOr : in.opcode == "xor" ? BoolOp::kXor : BoolOp::kAnd;
  const bool flip = in.opcode == "not";
  insn.mode =
      static_cast<uint8_t>((first.negated != flip ? 1 : 0) | (second.negated != flip ? 2 : 0));
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
  const bool flushes = ftz && (name == "f32" || name == "f16" || name == "f16x2");
  return std::string(op) + (flushes ? ".ftz." : ".") + name;
}

bool is_packed(ptx::Type type) {
  return type == ptx::Type::kF16x2 || type == ptx::Type::kBf16x2;
}

// The row that makes the result of set out of one mask, or of two for packed sources; "" if there
// is none.
std::string set_row(ptx::Type to, ptx::Type from) {
  using ptx::Type;
  const bool is_word = to == Type::kU32 || to == Type::kS32;
  if (is_packed(from))
    return is_word      ? "mask.pair.b32"
           : to == from ? "mask.pair." + std::string(ptx::type_name(to))
                        : "";
  if (is_word) return "mask.b32";
  if (to == Type::kU16 || to == Type::kS16) return "mask.b16";
  return to == Type::kF32 || to == Type::kF16 || to == Type::kBf16
             ? "mask." + std::string(ptx::type_name(to))
             : "";
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
  const bool packed = is_packed(*type);
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
  const std::string result = set_row(*to, *type);
  if (result.empty()) return fail(in, "is not supported");
  const std::string row = comparison_row(in.modifiers[0], *type, in.has("ftz"));
  const Ref dst = destination(in.operands[0], ptx::type_bytes(*to) * 8);
  const Ref low = set_mask(in, *type, is_packed(*type) ? row + ".low" : row, bool_op);
  if (!is_packed(*type)) return low.used() && emit_lane(in, result, dst, {low});
  const Ref high = set_mask(in, *type, row + ".high", bool_op);
  return low.used() && high.used() && emit_lane(in, result, dst, {low, high});
}

Ref FunctionLowering::set_mask(const Instruction& in, ptx::Type type, const std::string& row,
                               std::optional<BoolOp> bool_op) {
  const CompareOp* op = find_compare_op(row);
  if (op == nullptr) return fail(in, "is not supported"), Ref{};
  const bool is_float = type == ptx::Type::kF32 || type == ptx::Type::kF64;
  const uint32_t bits = ptx::type_bytes(type) * 8;
  const Ref a = source(in.operands[1], bits, is_float), b = source(in.operands[2], bits, is_float);
  const Ref c = bool_op ? predicate(in.operands[3].name) : Ref{};
  if (!a.used() || !b.used() || (bool_op && !c.used()))
    return fail(in, "has a source operand of the wrong kind or width"), Ref{};
  const Ref mask = temp(1);
  Insn& out = emit(in);
  out.kind = InsnKind::kCompare;
  out.compare = op->fn;
  out.dst = mask, out.a = a, out.b = b, out.c = c;
  out.bool_op = bool_op.value_or(BoolOp::kNone);
  out.c_negated = bool_op && in.operands[3].negated;
  count_pipe(op->pipe);
  return mask;
}

// lop3.or.b32 d|p, a, b, c, table, q: p = (d != 0) or q
bool FunctionLowering::lower_lop3(const Instruction& in) {
  const auto bool_op = in.modifiers.empty() ? std::nullopt : bool_op_from(in.modifiers[0]);
  if (!bool_op) return lower_lane(in);
  if (!expect_operands(in, 6, 6) || *bool_op == BoolOp::kXor) return fail(in, "is malformed");
  const Ref result = temp(32), p = predicate(in.operands[0].second),
            q = predicate(in.operands[5].name);
  if (!p.used() || !q.used()) return fail(in, "has an operand that is not a predicate");
  const auto word = [&](size_t i) { return source(in.operands[i], 32, false); };
  if (!emit_lane(in, "lop3.b32", result, {word(1), word(2), word(3), word(4)})) return false;
  const CompareOp* op = find_compare_op("ne.u32");
  Insn& out = emit(in);
  out.kind = InsnKind::kCompare;
  out.compare = op->fn;
  out.dst = p, out.a = result, out.b = constant(0, 32), out.c = q;
  out.bool_op = *bool_op, out.c_negated = in.operands[5].negated;
  count_pipe(op->pipe);
  Operand whole = in.operands[0];
  whole.second.clear();
  return emit_lane(in, "mov.b32", destination(whole, 32), {result});
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

}  // namespace gacer::simdevice
