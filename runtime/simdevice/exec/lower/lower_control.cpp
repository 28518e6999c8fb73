// SPDX-License-Identifier: Apache-2.0
// Branches, calls, ends and barriers: what ends a basic block. And the table of opcodes.
#include <algorithm>

#include "runtime/simdevice/exec/builtins.h"
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {

struct FunctionLowering::OpcodeRow {
  std::string_view opcode;
  bool (FunctionLowering::*lower)(const Instruction&);
};

// Opcodes that are not here are refused.
const FunctionLowering::OpcodeRow FunctionLowering::kOpcodes[] = {
    {"mov", &FunctionLowering::lower_mov},
    {"ld", &FunctionLowering::lower_load},
    {"ldu", &FunctionLowering::lower_load},
    {"st", &FunctionLowering::lower_store},
    {"atom", &FunctionLowering::lower_atomic},
    {"red", &FunctionLowering::lower_atomic},
    {"cp", &FunctionLowering::lower_cp_async},
    {"ldmatrix", &FunctionLowering::lower_matrix_load},
    {"stmatrix", &FunctionLowering::lower_matrix_load},
    {"mma", &FunctionLowering::lower_mma},
    {"wmma", &FunctionLowering::lower_wmma},
    {"wgmma", &FunctionLowering::lower_wgmma},
    {"movmatrix", &FunctionLowering::lower_move_matrix},
    {"tex", &FunctionLowering::lower_texture},
    {"tld4", &FunctionLowering::lower_texture},
    {"txq", &FunctionLowering::lower_texture_query},
    {"suq", &FunctionLowering::lower_texture_query},
    {"istypep", &FunctionLowering::lower_texture_type},
    {"suld", &FunctionLowering::lower_surface},
    {"sust", &FunctionLowering::lower_surface},
    {"sured", &FunctionLowering::lower_surface},
    {"cvt", &FunctionLowering::lower_cvt},
    {"cvta", &FunctionLowering::lower_cvta},
    {"isspacep", &FunctionLowering::lower_isspacep},
    {"lop3", &FunctionLowering::lower_lop3},
    {"setp", &FunctionLowering::lower_setp},
    {"set", &FunctionLowering::lower_set},
    {"testp", &FunctionLowering::lower_testp},
    {"addc", &FunctionLowering::lower_carry},
    {"subc", &FunctionLowering::lower_carry},
    {"madc", &FunctionLowering::lower_carry},
    {"bra", &FunctionLowering::lower_branch},
    {"brx", &FunctionLowering::lower_switch},
    {"call", &FunctionLowering::lower_call},
    {"ret", &FunctionLowering::lower_exit},
    {"exit", &FunctionLowering::lower_exit},
    {"trap", &FunctionLowering::lower_trap},
    {"bar", &FunctionLowering::lower_barrier},
    {"barrier", &FunctionLowering::lower_barrier},
    {"shfl", &FunctionLowering::lower_shuffle},
    {"vote", &FunctionLowering::lower_vote},
    {"match", &FunctionLowering::lower_match},
    {"redux", &FunctionLowering::lower_redux},
    {"elect", &FunctionLowering::lower_activemask},
    {"activemask", &FunctionLowering::lower_activemask},
    // No effect here: one coherent memory, no caches to direct, no debugger, no timing of its own.
    {"applypriority", &FunctionLowering::lower_nothing},
    {"discard", &FunctionLowering::lower_nothing},
    {"setmaxnreg", &FunctionLowering::lower_nothing},
    {"prefetch", &FunctionLowering::lower_nothing},
    {"prefetchu", &FunctionLowering::lower_nothing},
    {"createpolicy", &FunctionLowering::lower_policy},
    {"membar", &FunctionLowering::lower_fence},
    {"fence", &FunctionLowering::lower_fence},
    {"mbarrier", &FunctionLowering::lower_mbarrier},
    {"mapa", &FunctionLowering::lower_cluster_address},
    {"getctarank", &FunctionLowering::lower_cluster_address},
    {"nanosleep", &FunctionLowering::lower_sleep},
    {"brkpt", &FunctionLowering::lower_nothing},
    {"pmevent", &FunctionLowering::lower_nothing},
    {"griddepcontrol", &FunctionLowering::lower_nothing},
};

namespace {

// Rounding and saturation words come before the types ("lg2.approx.f32.ftz" is accepted too), in
// one order.
constexpr std::string_view kOrder[] = {"rn",  "rz",      "rm",  "rp",  "ftz",
                                       "NaN", "xorsign", "abs", "sat", "relu"};

bool is_type(const std::string& modifier) {
  return ptx::type_from(modifier).has_value() || modifier == "s16x2";
}

bool in_order(const std::vector<std::string>& modifiers) {
  size_t rank = 0;
  bool typed = false;
  for (const auto& m : modifiers) {
    const auto* at = std::find(std::begin(kOrder), std::end(kOrder), m);
    typed = typed || is_type(m);
    if (at == std::end(kOrder)) continue;
    const size_t here = static_cast<size_t>(at - std::begin(kOrder));
    if (typed || here < rank) return false;
    rank = here;
  }
  return true;
}

void put_in_order(std::vector<std::string>& modifiers) {
  std::vector<std::string> out;
  for (const auto& m : modifiers)
    if (std::find(std::begin(kOrder), std::end(kOrder), m) == std::end(kOrder)) out.push_back(m);
  auto at = std::find_if(out.begin(), out.end(), is_type);
  for (std::string_view word : kOrder)
    if (std::find(modifiers.begin(), modifiers.end(), word) != modifiers.end())
      at = out.insert(at, std::string(word)) + 1;
  modifiers = std::move(out);
}

}  // namespace

bool FunctionLowering::dispatch(const Instruction& in) {
  static const auto index = [] {
    std::unordered_map<std::string_view, bool (FunctionLowering::*)(const Instruction&)> out;
    for (const OpcodeRow& row : kOpcodes) out.emplace(row.opcode, row.lower);
    return out;
  }();
  if (in.has("cc")) return lower_carry(in);
  const bool predicates = !in.modifiers.empty() && in.modifiers.back() == "pred";
  if (predicates &&
      (in.opcode == "and" || in.opcode == "or" || in.opcode == "xor" || in.opcode == "not"))
    return lower_predicate_logic(in);
  const bool is_wide = !in.modifiers.empty() && in.modifiers.back() == "b128";
  if (is_wide && (in.opcode == "ld" || in.opcode == "st")) return lower_wide_memory(in);
  const auto found = index.find(in.opcode);
  const bool is_conversion = in.opcode == "cvt" && !in.has("pack");
  if ((found == index.end() || is_conversion) && !in_order(in.modifiers)) {
    Instruction ordered = in;
    put_in_order(ordered.modifiers);
    return dispatch(ordered);
  }
  return found == index.end() ? lower_lane(in) : (this->*found->second)(in);
}

bool FunctionLowering::lower_sleep(const Instruction& in) {
  if (!expect_operands(in, 1, 1)) return false;
  const Ref time = source(in.operands[0], 32, false);
  if (!time.used()) return fail(in, "has an operand of the wrong kind or width");
  emit_handler(in, sleep_handler).a = time;
  return true;
}

bool FunctionLowering::lower_branch(const Instruction& in) {
  if (!expect_operands(in, 1, 1)) return false;
  const auto label = find_label(in.operands[0].name);
  if (!label) return fail(in, "goes to a label that is not there");
  BasicBlock& bb = end_block(guard_.used() ? Terminator::kBranch : Terminator::kJump);
  bb.predicate = guard_;
  bb.negated = guard_negated_;
  bb.target = *label;
  bb.line = in.line.number;
  ++bb.pipes.integer;
  return true;
}

// A guard on an instruction that ends a block becomes a branch around it.
void FunctionLowering::begin_guarded(uint32_t& around) {
  around = kNoBlock;
  if (!guard_.used()) return;
  around = new_label();
  BasicBlock& bb = end_block(Terminator::kBranch);
  bb.predicate = guard_;
  bb.negated = !guard_negated_;
  bb.target = around;
  guard_ = {};
}

void FunctionLowering::end_guarded(uint32_t around) {
  if (around != kNoBlock) place(around);
}

// brx.idx index, list;
bool FunctionLowering::lower_switch(const Instruction& in) {
  if (!expect_operands(in, 2, 2) || !in.has("idx")) return fail(in, "is malformed");
  const ptx::TargetList* list = nullptr;
  for (size_t i = scopes_.size(); i-- > 0 && list == nullptr;)
    if (const auto it = scopes_[i].target_lists.find(in.operands[1].name);
        it != scopes_[i].target_lists.end())
      list = it->second;
  if (list == nullptr || list->calls) return fail(in, "has no list of branch targets");
  std::vector<uint32_t> targets;
  for (const auto& name : list->targets) {
    const auto label = find_label(name);
    if (!label) return fail(in, "goes to a label that is not there");
    targets.push_back(*label);
  }
  const Ref index = source(in.operands[0], 32, false);
  if (!index.used()) return fail(in, "has an index of the wrong kind or width");
  uint32_t around = kNoBlock;
  begin_guarded(around);
  out_.switches.push_back(std::move(targets));
  BasicBlock& bb = end_block(Terminator::kSwitch);
  bb.index = index;
  bb.site = static_cast<uint32_t>(out_.switches.size() - 1);
  bb.line = in.line.number;
  end_guarded(around);
  return true;
}

bool FunctionLowering::lower_exit(const Instruction& in) {
  if (!expect_operands(in, 0, 0)) return false;
  const bool leaves_function = in.opcode == "ret" && !source_.is_entry;
  if (leaves_function && !send_register_results(in)) return false;
  BasicBlock& bb = end_block(leaves_function ? Terminator::kReturn : Terminator::kExit);
  bb.predicate = guard_;
  bb.negated = guard_negated_;
  bb.line = in.line.number;
  return true;
}

bool FunctionLowering::lower_trap(const Instruction& in) {
  emit_handler(in, trap_handler);
  return true;
}

bool FunctionLowering::call_arguments(const Instruction& in, const Operand& tuple,
                                      std::vector<ParamSlot>& out) {
  for (const Operand& o : tuple.elements) {
    const Symbol* symbol = o.kind == Operand::Kind::kName ? find(o.name) : nullptr;
    if (symbol == nullptr || symbol->kind != SymbolKind::kFrame)
      return fail(in, "passes something that is not a .param variable");
    out.push_back({static_cast<uint32_t>(symbol->offset), symbol->bytes, 1});
  }
  return true;
}

// call{.uni} (ret), name, (args), prototype;   every part but the name may be missing
// With .param variables in place of all other operands; results go to their registers afterwards.
bool FunctionLowering::lower_call(const Instruction& in) {
  Instruction call = in;
  const bool has_results = !in.operands.empty() && in.operands[0].kind == Operand::Kind::kTuple;
  const size_t target = has_results ? 1 : 0;
  if (target >= in.operands.size()) return fail(in, "calls nothing");
  const Symbol* symbol = find(in.operands[target].name);
  const bool is_direct = symbol != nullptr && symbol->kind == SymbolKind::kFunction;
  const auto* params = is_direct ? &module_.functions[symbol->index]->params : nullptr;
  const bool has_arguments =
      target + 1 < in.operands.size() && in.operands[target + 1].kind == Operand::Kind::kTuple;
  if (has_arguments && !hide_operands(in, call.operands[target + 1], params, false)) return false;
  if (has_results && !hide_operands(in, call.operands[0], nullptr, true)) return false;
  const Ref guard = guard_;
  if (!lower_plain_call(call)) return false;
  guard_ = guard;
  for (size_t i = 0; has_results && i < in.operands[0].elements.size(); ++i) {
    const Operand &to = in.operands[0].elements[i], &from = call.operands[0].elements[i];
    if (to.name == from.name) continue;
    if (!move_param(in, false, from.name, to, width_of(to) / 8)) return false;
  }
  return true;
}

bool FunctionLowering::lower_plain_call(const Instruction& in) {
  CallSite site;
  size_t i = 0;
  const auto is_tuple = [&](size_t at) {
    return at < in.operands.size() && in.operands[at].kind == Operand::Kind::kTuple;
  };
  if (is_tuple(0) && !call_arguments(in, in.operands[i++], site.returns)) return false;
  if (i >= in.operands.size() || in.operands[i].kind != Operand::Kind::kName)
    return fail(in, "calls nothing");
  const Operand& target = in.operands[i++];
  if (is_tuple(i) && !call_arguments(in, in.operands[i++], site.arguments)) return false;
  if (in.operands.size() > i + 1) return fail(in, "has a wrong number of operands");
  const Symbol* symbol = find(target.name);
  needs_.calls = true;
  needs_.module_shared = true;  // a callee may use it
  if (symbol != nullptr && symbol->kind == SymbolKind::kFunction) {
    const ptx::Function& callee = *module_.functions[symbol->index];
    if (!callee.has_body) return lower_builtin_call(in, target.name, site);
    if (callee.is_entry) return fail(in, "calls a kernel");
    if (callee.params.size() != site.arguments.size() ||
        callee.returns.size() < site.returns.size())
      return fail(in, "passes a wrong number of parameters");
    for (size_t k = 0; k < site.arguments.size(); ++k)
      if (callee.params[k].bytes() != site.arguments[k].bytes)
        return fail(in, "passes a parameter of a wrong size");
    for (size_t k = 0; k < site.returns.size(); ++k)
      if (callee.returns[k].bytes() != site.returns[k].bytes)
        return fail(in, "takes a result of a wrong size");
    site.function = symbol->index;
  } else {
    site.address = source(target, 64, false);
    if (!site.address.used()) return fail(in, "calls what is not a function");
  }
  uint32_t around = kNoBlock;
  begin_guarded(around);
  out_.sites.push_back(std::move(site));
  BasicBlock& bb = end_block(Terminator::kCall);
  bb.site = static_cast<uint32_t>(out_.sites.size() - 1);
  bb.line = in.line.number;
  end_guarded(around);
  return true;
}

bool FunctionLowering::lower_builtin_call(const Instruction& in, const std::string& name,
                                          const CallSite& site) {
  const Builtin* builtin = find_builtin(name, site.arguments.size());
  if (builtin == nullptr) return fail(in, "calls a function that this module does not define");
  needs_.prints |= builtin->prints;
  needs_.heap |= builtin->uses_heap;
  Insn& insn = emit_handler(in, builtin->handler);
  insn.list.first = static_cast<uint32_t>(out_.sites.size());
  out_.sites.push_back(site);
  return true;
}

// barrier.cluster.arrive, barrier.cluster.wait
bool FunctionLowering::lower_cluster_barrier(const Instruction& in) {
  const bool arrives = in.has("arrive");
  if (!expect_operands(in, 0, 0) || (!arrives && !in.has("wait"))) return fail(in, "is malformed");
  uint32_t around = kNoBlock;
  begin_guarded(around);
  isolate();
  BasicBlock& bb = end_block(Terminator::kBarrier);
  bb.mode = static_cast<uint8_t>(arrives ? BarrierMode::kClusterArrive : BarrierMode::kClusterWait);
  bb.line = in.line.number;
  ++bb.pipes.barrier;
  end_guarded(around);
  return true;
}

// bar{.cta}.sync a{, b}   bar.arrive a, b   bar.red.op d, a{, b}, p   bar.warp.sync mask   and
// barrier.*
bool FunctionLowering::lower_barrier(const Instruction& in) {
  if (in.has("warp")) return lower_warp_barrier(in);
  if (in.has("cluster")) return lower_cluster_barrier(in);
  const bool is_red = in.has("red");
  BarrierMode mode = BarrierMode::kSync;
  if (in.has("arrive")) mode = BarrierMode::kArrive;
  if (is_red)
    mode = in.has("popc")  ? BarrierMode::kRedPopc
           : in.has("and") ? BarrierMode::kRedAnd
                           : BarrierMode::kRedOr;
  if (mode == BarrierMode::kSync && !in.has("sync")) return fail(in, "is not supported");
  if (!expect_operands(in, is_red ? 3 : 1, is_red ? 4 : 2)) return false;
  const size_t first = is_red ? 1 : 0, last = in.operands.size() - (is_red ? 1 : 0);
  const Ref index = source(in.operands[first], 32, false);
  Ref threads, vote, dst;
  if (last - first == 2) threads = source(in.operands[first + 1], 32, false);
  if (is_red) {
    vote = predicate(in.operands.back().name);
    dst = destination(in.operands[0], mode == BarrierMode::kRedPopc ? 32 : 1);
  }
  if (!index.used() || (last - first == 2 && !threads.used()) ||
      (is_red && (!vote.used() || !dst.used())))
    return fail(in, "has operands of the wrong kind or width");
  uint32_t around = kNoBlock;
  begin_guarded(around);
  // Alone in its block: while lanes wait their block is this one.
  isolate();
  BasicBlock& bb = end_block(Terminator::kBarrier);
  bb.index = index;
  bb.threads = threads;
  bb.predicate = vote;
  bb.negated = is_red && in.operands.back().negated;
  bb.dst = dst;
  bb.mode = static_cast<uint8_t>(mode);
  bb.line = in.line.number;
  ++bb.pipes.barrier;
  end_guarded(around);
  return true;
}

}  // namespace gacer::simdevice
