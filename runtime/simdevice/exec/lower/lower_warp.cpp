// SPDX-License-Identifier: Apache-2.0
// Warp-wide instructions: each stands alone in its basic block.
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {

bool FunctionLowering::lower_warp_barrier(const Instruction& in) {
  if (!expect_operands(in, 1, 1)) return false;
  const Ref members = source(in.operands[0], 32, false);
  if (!members.used()) return fail(in, "has a member mask of the wrong kind or width");
  isolate();
  emit_handler(in, warp_barrier_handler).e = members;
  ++block().pipes.barrier;
  end_block(Terminator::kFall);
  return true;
}

// shfl{.sync}.mode.b32 d{|p}, a, b, c{, members}
bool FunctionLowering::lower_shuffle(const Instruction& in) {
  const bool sync = in.has("sync");
  if (!expect_operands(in, sync ? 5 : 4, sync ? 5 : 4)) return false;
  ShuffleMode mode = ShuffleMode::kIndex;
  if (in.has("up")) mode = ShuffleMode::kUp;
  if (in.has("down")) mode = ShuffleMode::kDown;
  if (in.has("bfly")) mode = ShuffleMode::kButterfly;
  Operand to = in.operands[0];
  const std::string second = to.second;
  to.second.clear();
  const Ref dst = destination(to, 32), a = source(in.operands[1], 32, true),
            b = source(in.operands[2], 32, false), c = source(in.operands[3], 32, false);
  const Ref dst2 = second.empty() || second == "_" ? Ref{} : predicate(second);
  const Ref members = sync ? source(in.operands[4], 32, false) : Ref{};
  if (!dst.used() || !a.used() || !b.used() || !c.used() || (sync && !members.used()) ||
      (!second.empty() && second != "_" && !dst2.used()))
    return fail(in, "has operands of the wrong kind or width");
  isolate();
  Insn& insn = emit_handler(in, shuffle_handler);
  insn.dst = dst, insn.dst2 = dst2, insn.a = a, insn.b = b, insn.c = c, insn.e = members;
  insn.mode = static_cast<uint8_t>(mode);
  count_pipe(Pipe::kInt);
  insn.latency = Latency::kShared;
  end_block(Terminator::kFall);
  return true;
}

// vote{.sync}.mode.pred p, {!}a{, members}    vote.sync.ballot.b32 d, {!}a, members
bool FunctionLowering::lower_vote(const Instruction& in) {
  const bool sync = in.has("sync");
  if (!expect_operands(in, sync ? 3 : 2, sync ? 3 : 2)) return false;
  VoteMode mode = VoteMode::kBallot;
  if (in.has("all")) mode = VoteMode::kAll;
  if (in.has("any")) mode = VoteMode::kAny;
  if (in.has("uni")) mode = VoteMode::kUniform;
  const Operand& vote = in.operands[1];
  const Ref a = predicate_operand(vote);
  const Ref dst = destination(in.operands[0], mode == VoteMode::kBallot ? 32 : 1);
  const Ref members = sync ? source(in.operands[2], 32, false) : Ref{};
  if (!dst.used() || !a.used() || (sync && !members.used()))
    return fail(in, "has operands of the wrong kind or width");
  isolate();
  Insn& insn = emit_handler(in, vote_handler);
  insn.dst = dst, insn.a = a, insn.e = members, insn.c_negated = vote.negated;
  insn.mode = static_cast<uint8_t>(mode);
  count_pipe(Pipe::kInt);
  end_block(Terminator::kFall);
  return true;
}

// match.{any,all}.sync.{b32,b64} d{|p}, a, members
bool FunctionLowering::lower_match(const Instruction& in) {
  if (!expect_operands(in, 3, 3)) return false;
  const bool wide = in.has("b64"), all = in.has("all");
  Operand to = in.operands[0];
  const std::string second = to.second;
  to.second.clear();
  const Ref dst = destination(to, 32), a = source(in.operands[1], wide ? 64 : 32, false),
            members = source(in.operands[2], 32, false);
  const Ref dst2 = second.empty() || second == "_" ? Ref{} : predicate(second);
  if (!dst.used() || !a.used() || !members.used())
    return fail(in, "has operands of the wrong kind or width");
  isolate();
  Insn& insn = emit_handler(in, match_handler);
  insn.dst = dst, insn.dst2 = dst2, insn.a = a, insn.e = members;
  insn.mode = static_cast<uint8_t>((all ? 1 : 0) | (wide ? 2 : 0));
  count_pipe(Pipe::kInt);
  end_block(Terminator::kFall);
  return true;
}

bool FunctionLowering::lower_redux(const Instruction& in) {
  if (in.modifiers.size() != 3 || !expect_operands(in, 3, 3)) return fail(in, "is not supported");
  const std::string& op = in.modifiers[1];
  const bool is_signed = in.modifiers[2] == "s32";
  ReduxOp mode = ReduxOp::kAdd;
  if (op == "min")
    mode = is_signed ? ReduxOp::kMinS : ReduxOp::kMinU;
  else if (op == "max")
    mode = is_signed ? ReduxOp::kMaxS : ReduxOp::kMaxU;
  else if (op == "and")
    mode = ReduxOp::kAnd;
  else if (op == "or")
    mode = ReduxOp::kOr;
  else if (op == "xor")
    mode = ReduxOp::kXor;
  else if (op != "add")
    return fail(in, "is not supported");
  const Ref dst = destination(in.operands[0], 32), a = source(in.operands[1], 32, false),
            members = source(in.operands[2], 32, false);
  if (!dst.used() || !a.used() || !members.used() || in.modifiers[2] == "f32")
    return fail(in, "is not supported");
  isolate();
  Insn& insn = emit_handler(in, redux_handler);
  insn.dst = dst, insn.a = a, insn.e = members;
  insn.mode = static_cast<uint8_t>(mode);
  count_pipe(Pipe::kInt);
  end_block(Terminator::kFall);
  return true;
}

// activemask.b32 d    elect.sync d|p, members
bool FunctionLowering::lower_activemask(const Instruction& in) {
  const bool elect = in.opcode == "elect";
  if (!expect_operands(in, elect ? 2 : 1, elect ? 2 : 1)) return false;
  Operand to = in.operands[0];
  const std::string second = to.second;
  to.second.clear();
  const Ref dst = destination(to, 32);
  const Ref members = elect ? source(in.operands[1], 32, false) : Ref{};
  const Ref leader = elect ? predicate(second) : Ref{};
  if (!dst.used() || (elect && (!members.used() || !leader.used())))
    return fail(in, "has operands of the wrong kind or width");
  isolate();
  Insn& insn = emit_handler(in, elect ? elect_handler : activemask_handler);
  insn.dst = dst, insn.dst2 = leader, insn.e = members;
  count_pipe(Pipe::kInt);
  end_block(Terminator::kFall);
  return true;
}

}  // namespace gacer::simdevice
