// SPDX-License-Identifier: Apache-2.0
// mbarrier, cp.async with mbarriers, bulk copies, cluster addresses.
#include "runtime/simdevice/exec/async_ops.h"
#include "runtime/simdevice/exec/atomics.h"
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {
namespace {

bool in_shared(const ptx::Instruction& in) {
  return in.has("shared") || in.has("shared::cta") || in.has("shared::cluster");
}

}  // namespace

// The whole address in one 64-bit register.
Ref FunctionLowering::whole_address(const Instruction& in, const Operand& operand) {
  auto at = address(operand);
  if (!at || at->space == MemSpace::kLocal || at->space == MemSpace::kParam) return {};
  Ref base = at->base;
  if (!at->wide) {
    base = temp(64);
    if (!emit_lane(in, "cvt.u64.u32", base, {at->base})) return {};
  }
  if (at->offset == 0) return base;
  const Ref sum = temp(64);
  return emit_lane(in, "add.b64", sum, {base, constant(static_cast<uint64_t>(at->offset), 64)})
             ? sum
             : Ref{};
}

// A number of 16, 32 or 64 bits as one of 64.
Ref FunctionLowering::wide_number(const Instruction& in, const Operand& operand) {
  const uint32_t bits = width_of(operand);
  if (bits == 0 || bits == 64) return source(operand, 64, false);
  const Ref narrow = source(operand, bits, false), wide = temp(64);
  if (!narrow.used()) return {};
  return emit_lane(in, "cvt.u64.u" + std::to_string(bits), wide, {narrow}) ? wide : Ref{};
}

Insn* FunctionLowering::emit_list(const Instruction& in, Handler handler,
                                  const std::vector<Ref>& uses) {
  for (Ref ref : uses)
    if (!ref.used()) return fail(in, "has operands of the wrong kind or width"), nullptr;
  const auto first = static_cast<uint32_t>(out_.lists.size());
  out_.lists.insert(out_.lists.end(), uses.begin(), uses.end());
  Insn& insn = emit_handler(in, handler);
  insn.list = {first, 0, static_cast<uint16_t>(uses.size())};
  ++block().pipes.memory;
  return &insn;
}

bool FunctionLowering::lower_pending_count(const Instruction& in) {
  if (!expect_operands(in, 2, 2)) return false;
  const Ref dst = destination(in.operands[0], 32), state = source(in.operands[1], 64, false);
  if (!dst.used() || !state.used()) return fail(in, "has operands of the wrong kind or width");
  Insn& insn = emit_handler(in, pending_count_handler);
  insn.dst = dst, insn.a = state;
  return true;
}

bool FunctionLowering::emit_mbarrier(const Instruction& in, uint8_t op, Ref dst,
                                     const std::vector<Ref>& uses) {
  Insn* insn = emit_list(in, mbarrier_handler, uses);
  if (insn == nullptr) return false;
  insn->mode = op;
  insn->dst = dst;
  insn->space = in_shared(in) ? MemSpace::kShared : MemSpace::kGeneric;
  ++block().pipes.shared;
  return true;
}

// mbarrier.test_wait / try_wait {.parity} p, [a], state or parity {, hint}
bool FunctionLowering::lower_mbarrier_test(const Instruction& in) {
  if (!expect_operands(in, 3, 4)) return false;
  const Ref dst = destination(in.operands[0], 1);
  if (!dst.used()) return fail(in, "has operands of the wrong kind or width");
  const auto op = in.has("parity") ? MbarrierOp::kTestParity : MbarrierOp::kTest;
  const Ref at = whole_address(in, in.operands[1]), value = wide_number(in, in.operands[2]);
  return emit_mbarrier(in, static_cast<uint8_t>(op), dst, {at, value});
}

// mbarrier.arrive / arrive_drop {.expect_tx, .noComplete} state or _, [a] {, count or bytes}
bool FunctionLowering::lower_mbarrier_arrive(const Instruction& in) {
  if (!expect_operands(in, 2, 3)) return false;
  const bool drops = in.modifiers[0] == "arrive_drop", expects = in.has("expect_tx");
  const auto op = drops ? (expects ? MbarrierOp::kDropExpect : MbarrierOp::kDrop)
                        : (expects ? MbarrierOp::kArriveExpect : MbarrierOp::kArrive);
  const bool sinks = in.operands[0].name == "_";
  const Ref dst = sinks ? Ref{} : destination(in.operands[0], 64);
  if ((!sinks && !dst.used()) || (expects && in.operands.size() != 3))
    return fail(in, "has operands of the wrong kind or width");
  const Ref at = whole_address(in, in.operands[1]);
  const Ref count = in.operands.size() == 3 ? wide_number(in, in.operands[2]) : constant(1, 64);
  return emit_mbarrier(in, static_cast<uint8_t>(op), dst, {at, count});
}

bool FunctionLowering::lower_mbarrier(const Instruction& in) {
  if (in.modifiers.empty()) return fail(in, "is not supported");
  const std::string& what = in.modifiers[0];
  if (what == "test_wait" || what == "try_wait") return lower_mbarrier_test(in);
  if (what == "arrive" || what == "arrive_drop") return lower_mbarrier_arrive(in);
  if (what == "pending_count") return lower_pending_count(in);
  if (what == "inval")
    return expect_operands(in, 1, 1) &&
           emit_mbarrier(in, static_cast<uint8_t>(MbarrierOp::kInvalidate), {},
                         {whole_address(in, in.operands[0])});
  if (what != "init" && what != "expect_tx" && what != "complete_tx")
    return fail(in, "is not supported");
  if (!expect_operands(in, 2, 2)) return false;
  const auto op = what == "init"        ? MbarrierOp::kInit
                  : what == "expect_tx" ? MbarrierOp::kExpect
                                        : MbarrierOp::kComplete;
  const Ref at = whole_address(in, in.operands[0]), value = wide_number(in, in.operands[1]);
  return emit_mbarrier(in, static_cast<uint8_t>(op), {}, {at, value});
}

// cp.async.mbarrier.arrive{.noinc} [a]: the copies before it are done. Without .noinc the arrival
// is one more than expected, and nothing changes.
bool FunctionLowering::lower_cp_async_arrive(const Instruction& in) {
  if (!expect_operands(in, 1, 1)) return false;
  const Ref at = whole_address(in, in.operands[0]);
  const bool counts = in.has("noinc");
  return emit_mbarrier(in, static_cast<uint8_t>(MbarrierOp::kArrive), {},
                       {at, constant(counts ? 1 : 0, 64)});
}

// cp{.reduce}.async.bulk.DST.SRC.COMPLETION... [dst], [src], bytes {, [mbarrier]} {, masks} {,
// policy}
bool FunctionLowering::lower_bulk(const Instruction& in) {
  if (in.has("commit_group") || in.has("wait_group") || in.has("prefetch")) return true;
  const bool to_mbarrier = in.has("mbarrier::complete_tx::bytes"),
             multicast = in.has("multicast::cluster"), reduces = in.modifiers[0] == "reduce",
             masked = in.has("cp_mask");
  const size_t least = 3u + to_mbarrier + multicast + masked;
  if (in.has("tensor") || (!to_mbarrier && !in.has("bulk_group")))
    return fail(in, "is not supported");
  if (!expect_operands(in, least, least + 1)) return false;
  const size_t first = reduces ? 3 : 2;  // after "async.bulk" or "reduce.async.bulk"
  if (in.modifiers.size() < first + 2) return fail(in, "is malformed");
  const bool to_shared = in.modifiers[first].rfind("shared", 0) == 0,
             from_shared = in.modifiers[first + 1].rfind("shared", 0) == 0;
  std::vector<Ref> uses{whole_address(in, in.operands[0]), whole_address(in, in.operands[1]),
                        wide_number(in, in.operands[2])};
  if (to_mbarrier) uses.push_back(whole_address(in, in.operands[3]));
  for (size_t i = 3u + to_mbarrier; i < least; ++i) uses.push_back(wide_number(in, in.operands[i]));
  const auto mode =
      static_cast<uint8_t>((to_shared ? kBulkToShared : 0) | (from_shared ? kBulkFromShared : 0) |
                           (to_mbarrier ? kBulkMbarrier : 0) | (multicast ? kBulkMulticast : 0) |
                           (reduces ? kBulkReduce : 0) | (masked ? kBulkByteMask : 0));
  ElementUpdate element = nullptr;
  uint32_t element_bytes = 1;
  if (reduces && !bulk_reduction(in, element, element_bytes)) return false;
  Insn* insn = emit_list(in, bulk_copy_handler, uses);
  if (insn == nullptr) return false;
  insn->mode = mode;
  insn->element = element;
  insn->imm = element_bytes;
  block().pipes.global_loads += !from_shared;
  return true;
}

// The last two modifiers: .op.type
bool FunctionLowering::bulk_reduction(const Instruction& in, ElementUpdateFn& element,
                                      uint32_t& bytes) {
  std::optional<AtomicOp> op;
  for (const auto& m : in.modifiers)
    if (const auto found = atomic_op_from(m)) op = found;
  const auto type = ptx::type_from(in.modifiers.back());
  element = op && type ? find_element_update(*op, *type) : nullptr;
  if (element == nullptr) return fail(in, "is not supported");
  bytes = ptx::type_bytes(*type);
  return true;
}

// mapa{.shared::cluster}.type d, a, rank    getctarank{.shared::cluster}.type d, a
bool FunctionLowering::lower_cluster_address(const Instruction& in) {
  const bool maps = in.opcode == "mapa";
  const size_t count = maps ? 3 : 2;
  if (!expect_operands(in, count, count) || in.modifiers.empty()) return fail(in, "is malformed");
  const bool generic = !in.has("shared::cluster"), wide = in.modifiers.back() == "u64";
  if (generic && !wide) return fail(in, "is not supported: only 64-bit generic addresses");
  const uint32_t bits = wide ? 64 : 32;
  const Ref dst = destination(in.operands[0], maps ? bits : 32),
            a = source(in.operands[1], bits, false);
  const Ref rank = maps ? source(in.operands[2], 32, false) : Ref{};
  if (!dst.used() || !a.used() || (maps && !rank.used()))
    return fail(in, "has operands of the wrong kind or width");
  Insn& insn = emit_handler(in, maps ? map_address_handler : rank_of_address_handler);
  insn.dst = dst, insn.a = a, insn.b = rank;
  insn.mode = static_cast<uint8_t>((generic ? 1 : 0) | (wide ? 2 : 0));
  count_pipe(Pipe::kInt);
  return true;
}

// red / atom with a vector of operands.
bool FunctionLowering::lower_vector_atomic(const Instruction& in) {
  const bool is_red = in.opcode == "red";
  std::optional<AtomicOp> op;
  for (const auto& m : in.modifiers)
    if (const auto found = atomic_op_from(m)) op = found;
  const auto type = ptx::type_from(in.modifiers.back());
  const ElementUpdate element = op && type ? find_element_update(*op, *type) : nullptr;
  const size_t count = is_red ? 2 : 3, where = is_red ? 0 : 1;
  if (element == nullptr) return fail(in, "is not supported");
  if (!expect_operands(in, count, count + (in.has("L2::cache_hint") ? 1 : 0))) return false;
  auto at = address(in.operands[where]);
  if (!at || at->space == MemSpace::kLocal) return fail(in, "has an address that is not supported");
  const uint32_t bits = ptx::type_bytes(*type) * 8;
  const auto& values = in.operands[where + 1].elements;
  std::vector<Ref> refs;
  for (size_t i = 0; !is_red && i < in.operands[0].elements.size(); ++i)
    refs.push_back(destination(in.operands[0].elements[i], bits));
  const size_t defs = refs.size();
  for (const Operand& value : values) refs.push_back(source(value, bits, *type == ptx::Type::kF32));
  const size_t n = values.size();
  if ((n != 2 && n != 4 && n != 8) || (!is_red && defs != n))
    return fail(in, "has a wrong number of data registers");
  Insn* insn = emit_list(in, vector_atomic_handler, refs);
  if (insn == nullptr) return false;
  insn->list.defs = static_cast<uint16_t>(defs);
  insn->list.uses = static_cast<uint16_t>(n);
  insn->a = at->base;
  insn->wide_address = at->wide;
  insn->imm = at->offset;
  insn->space = at->space ? *at->space : in.has("global") ? MemSpace::kGlobal : MemSpace::kGeneric;
  insn->element = element;
  insn->mode = static_cast<uint8_t>(bits / 8);
  ++block().pipes.atomics;
  return true;
}

bool FunctionLowering::lower_fence(const Instruction& in) {
  emit_handler(in, fence_handler);
  return true;
}

// createpolicy: an opaque word; caches here have no policies.
bool FunctionLowering::lower_policy(const Instruction& in) {
  if (in.operands.empty()) return fail(in, "is malformed");
  return emit_lane(in, "mov.b64", destination(in.operands[0], 64), {constant(0, 64)});
}

}  // namespace gacer::simdevice
