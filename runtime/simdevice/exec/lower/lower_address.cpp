// SPDX-License-Identifier: Apache-2.0
// Addresses: cvta and isspacep.
#include "runtime/simdevice/exec/block.h"
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {

// Generic addresses of shared, local and parameter memory are offsets plus the window's base;
// global and constant ones are the same in both.
bool FunctionLowering::lower_cvta(const Instruction& in) {
  if (!expect_operands(in, 2, 2) || in.modifiers.size() < 2) return fail(in, "is malformed");
  const bool to = in.modifiers[0] == "to";
  const std::string& space = in.modifiers[to ? 1 : 0];
  if (in.modifiers.back() != "u64") return fail(in, "is not supported: only 64-bit addresses");
  uint64_t base = 0;
  if (space == "shared" || space == "shared::cta" || space == "shared::cluster") {
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
  if (space == "const") return lower_is_constant(in);
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

// Constant memory is wherever the loader put the module's constant variables.
bool FunctionLowering::lower_is_constant(const Instruction& in) {
  const Ref dst = destination(in.operands[0], 1), a = source(in.operands[1], 64, false);
  if (!dst.used() || !a.used()) return fail(in, "has operands of the wrong kind or width");
  const CompareOp* below = find_compare_op("lt.u64");
  const Ref any = temp(1);
  const auto compare = [&](Ref left, Ref right, BoolOp op) {
    Insn& out = emit(in);
    out.kind = InsnKind::kCompare;
    out.compare = below->fn;
    out.dst = any, out.a = left, out.b = right;
    out.bool_op = op;
    if (op != BoolOp::kNone) out.c = any;
    count_pipe(below->pipe);
  };
  compare(constant(0, 64), constant(0, 64), BoolOp::kNone);
  for (uint32_t i = 0; i < module_.globals.size(); ++i) {
    if (!module_.globals[i].is_const) continue;
    const Ref offset = temp(64);
    if (!emit_lane(in, "sub.b64", offset, {a, module_.pool.global_address(i, 0)})) return false;
    compare(offset, constant(module_.globals[i].bytes, 64), BoolOp::kOr);
  }
  Insn& out = emit_handler(in, predicate_handler);
  out.dst = dst, out.a = any, out.b = any;
  out.bool_op = BoolOp::kAnd;
  return true;
}

}  // namespace gacer::simdevice
