// SPDX-License-Identifier: Apache-2.0
// ld, st, atom, red, cp.async: state space, element, address.
#include <algorithm>

#include "runtime/simdevice/exec/atomics.h"
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/memory_access.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {
namespace {

using ptx::Type;

// Cache hints and memory ordering: one block runs at a time per thread and host memory is coherent.
constexpr std::string_view kHints[] = {"weak",     "relaxed", "acquire", "release", "acq_rel",
                                       "volatile", "mmio",    "cta",     "cluster", "gpu",
                                       "sys",      "ca",      "cg",      "cs",      "lu",
                                       "cv",       "wb",      "wt",      "nc",      "noftz"};

bool is_hint(std::string_view m) {
  return std::find(std::begin(kHints), std::end(kHints), m) != std::end(kHints) ||
         m.substr(0, 4) == "L1::" || m.substr(0, 4) == "L2::";
}

std::optional<MemSpace> space_from(std::string_view m) {
  if (m == "global" || m == "const") return MemSpace::kGlobal;
  if (m == "shared" || m == "shared::cta" || m == "shared::cluster") return MemSpace::kShared;
  if (m == "local") return MemSpace::kLocal;
  if (m == "param" || m == "param::entry" || m == "param::func") return MemSpace::kParam;
  return std::nullopt;
}

// Loads that see what other threads write.
bool is_strong(const ptx::Instruction& in) {
  for (const char* word : {"volatile", "relaxed", "acquire", "mmio", "cv"})
    if (in.has(word)) return true;
  return false;
}

struct MemoryWords {
  std::optional<MemSpace> space;
  uint32_t vector = 1;
  Type type = Type::kNone;
  std::string unknown;
};

MemoryWords read_words(const ptx::Instruction& in) {
  MemoryWords out;
  for (const auto& m : in.modifiers) {
    if (const auto space = space_from(m)) {
      out.space = space;
    } else if (const auto type = ptx::type_from(m)) {
      out.type = *type;
    } else if (m == "v2" || m == "v4" || m == "v8") {
      out.vector = static_cast<uint32_t>(m[1] - '0');
    } else if (!is_hint(m)) {
      out.unknown = m;
    }
  }
  return out;
}

}  // namespace

std::optional<FunctionLowering::Address> FunctionLowering::address(const Operand& operand) {
  // "[a + 8]", or an array's element "a[2]".
  const bool is_element = operand.kind == Operand::Kind::kName && operand.subscript;
  if ((operand.kind != Operand::Kind::kAddress && !is_element) || !operand.elements.empty())
    return std::nullopt;
  Address out;
  if (operand.offset) out.offset = static_cast<int64_t>(operand.offset->bits);
  out.base = constant(0, 64);
  if (operand.name.empty()) return out;
  const Symbol* symbol = find(operand.name);
  if (symbol == nullptr || (is_element && symbol->kind == SymbolKind::kRegister))
    return std::nullopt;
  if (is_element) out.offset = addend_of(operand, *symbol);
  switch (symbol->kind) {
    case SymbolKind::kRegister:
      out.base = Ref::make(Bank::kFrame, symbol->index);
      out.wide = out_.reg_bits[symbol->index] == 64;
      return out_.reg_bits[symbol->index] < 32 ? std::nullopt : std::optional(out);
    case SymbolKind::kShared:
      out.space = MemSpace::kShared;
      out.offset += static_cast<int64_t>(symbol->offset);
      return out;
    case SymbolKind::kParam:
      out.space = MemSpace::kParam;
      out.offset += static_cast<int64_t>(symbol->offset);
      return out;
    case SymbolKind::kDynamicShared:
      needs_.dynamic_shared = true;
      out.space = MemSpace::kShared;
      out.wide = false;
      out.base = special("%gacer_dynamic_shared", 32);
      return out;
    case SymbolKind::kGlobal:
      out.space = MemSpace::kGlobal;
      out.base = module_.pool.global_address(symbol->index, 0);
      return out;
    case SymbolKind::kFrame:
      out.space = MemSpace::kLocal;
      out.base = temp(64);
      out.offset += static_cast<int64_t>(symbol->offset);
      return out;
    case SymbolKind::kWideRegister:
    case SymbolKind::kFunction:
      return std::nullopt;
  }
  return std::nullopt;
}

bool FunctionLowering::memory_operands(const Instruction& in, const Operand& data,
                                       const Operand& where, bool is_store) {
  const MemoryWords words = read_words(in);
  const uint32_t bytes = ptx::type_bytes(words.type);
  if (!words.unknown.empty() || bytes == 0 || bytes > 8) return fail(in, "is not supported");
  const bool is_vector = data.kind == Operand::Kind::kVector;
  if ((words.vector > 1) != is_vector || (is_vector && data.elements.size() != words.vector))
    return fail(in, "has a wrong number of data registers");
  auto at = address(where);
  if (!at) return fail(in, "has an address that is not supported");
  MemSpace space = at->space ? *at->space : words.space.value_or(MemSpace::kGeneric);
  if (space == MemSpace::kParam && !source_.is_entry) space = MemSpace::kLocal;
  if (at->space == MemSpace::kLocal) {  // frame memory: its place is known when the frame is
    Insn& base = emit_handler(in, local_address_handler);
    base.dst = at->base;
  }
  std::vector<Ref> refs;
  uint32_t width = 0;
  for (const Operand& o : is_vector ? data.elements : std::vector<Operand>{data}) {
    uint32_t bits = width_of(o);
    if (bits == 0) bits = std::max<uint32_t>(16, bytes * 8);
    Ref ref = is_store ? source(o, bits, words.type == Type::kF32 || words.type == Type::kF64)
                       : destination(o, bits);
    if (!ref.used() || (width != 0 && bits != width))
      return fail(in, "has data registers of the wrong kind or width");
    width = bits;
    refs.push_back(ref);
  }
  const MemoryOps* ops = find_memory_ops(bytes, ptx::is_signed(words.type), width);
  if (ops == nullptr) return fail(in, "has data registers of the wrong width");
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  out_.lists.insert(out_.lists.end(), refs.begin(), refs.end());
  Insn& insn = emit_handler(in, is_store        ? store_handler
                                : is_strong(in) ? strong_load_handler
                                                : load_handler);
  insn.list = {first, static_cast<uint16_t>(is_store ? 0 : refs.size()),
               static_cast<uint16_t>(is_store ? refs.size() : 0)};
  insn.memory = ops;
  insn.a = at->base;
  insn.wide_address = at->wide;
  insn.imm = at->offset;
  insn.space = space;
  insn.free_order = in.has("nc");
  PipeCounts& pipes = block().pipes;
  ++pipes.memory;
  pipes.shared += space == MemSpace::kShared;
  if (space == MemSpace::kShared)
    pipes.shared_beats += std::max<uint32_t>(1, bytes * static_cast<uint32_t>(refs.size()) / 4);
  pipes.global_loads += !is_store && (space == MemSpace::kGlobal || space == MemSpace::kGeneric);
  return true;
}

bool FunctionLowering::lower_load(const Instruction& in) {
  return expect_operands(in, 2, 3) && memory_operands(in, in.operands[0], in.operands[1], false);
}

bool FunctionLowering::lower_store(const Instruction& in) {
  return expect_operands(in, 2, 3) && memory_operands(in, in.operands[1], in.operands[0], true);
}

// atom{.sem}{.scope}{.space}.op{.noftz}.type d, [a], b{, c}   red: the same without d
bool FunctionLowering::lower_atomic(const Instruction& in) {
  const bool is_red = in.opcode == "red";
  if (in.has("v2") || in.has("v4") || in.has("v8")) return lower_vector_atomic(in);
  std::optional<AtomicOp> op;
  MemoryWords words;
  for (const auto& m : in.modifiers) {
    if (const auto found = atomic_op_from(m)) {
      op = found;
    } else if (const auto space = space_from(m)) {
      words.space = space;
    } else if (const auto type = ptx::type_from(m)) {
      words.type = *type;
    } else if (!is_hint(m)) {
      return fail(in, "is not supported");
    }
  }
  const AtomicFn fn = op ? find_atomic(*op, words.type) : nullptr;
  const size_t count = 1 + (is_red ? 0 : 1) + (op == AtomicOp::kCas ? 2 : 1);
  if (fn == nullptr || !expect_operands(in, count, count + (in.has("L2::cache_hint") ? 1 : 0)))
    return fail(in, "is not supported");
  const size_t where = is_red ? 0 : 1;
  const uint32_t bits = ptx::type_bytes(words.type) * 8;
  const bool is_float = words.type == Type::kF32 || words.type == Type::kF64;
  auto at = address(in.operands[where]);
  if (!at || at->space == MemSpace::kLocal) return fail(in, "has an address that is not supported");
  const Ref dst = is_red || in.operands[0].name == "_" ? Ref{} : destination(in.operands[0], bits);
  const Ref b = source(in.operands[where + 1], bits, is_float);
  const Ref c = op == AtomicOp::kCas ? source(in.operands[where + 2], bits, is_float) : Ref{};
  if (!b.used() || (!is_red && in.operands[0].name != "_" && !dst.used()) ||
      (op == AtomicOp::kCas && !c.used()))
    return fail(in, "has operands of the wrong kind or width");
  Insn& insn = emit_handler(in, fn);
  insn.dst = dst;
  insn.a = at->base;
  insn.b = b;
  insn.c = c;
  insn.wide_address = at->wide;
  insn.imm = at->offset;
  insn.space = at->space ? *at->space : words.space.value_or(MemSpace::kGeneric);
  PipeCounts& pipes = block().pipes;
  ++pipes.memory;
  pipes.shared += insn.space == MemSpace::kShared;
  ++pipes.atomics;
  if (dst.used()) insn.latency = Latency::kAtomic;
  return true;
}

// cp.async.{ca,cg}.shared.global [dst], [src], bytes {, source bytes}: copied at once; waits find
// it done.
bool FunctionLowering::lower_cp_async(const Instruction& in) {
  if (in.has("bulk")) return lower_bulk(in);
  if (in.has("mbarrier")) return lower_cp_async_arrive(in);
  if (in.has("commit_group") || in.has("wait_group") || in.has("wait_all")) return true;
  const bool plain = in.modifiers.size() >= 4 && in.modifiers[0] == "async" &&
                     (in.modifiers[1] == "ca" || in.modifiers[1] == "cg");
  if (!plain || !expect_operands(in, 3, 5)) return fail(in, "is not supported");
  auto to = address(in.operands[0]), from = address(in.operands[1]);
  const auto bytes = literal(in.operands[2]);
  if (!to || !from || !bytes || (*bytes != 4 && *bytes != 8 && *bytes != 16) ||
      to->space == MemSpace::kLocal || from->space == MemSpace::kLocal)
    return fail(in, "is not supported");
  Ref size = constant(*bytes, 32);
  if (in.operands.size() > 3 && width_of(in.operands[3]) != 64) {
    const bool ignores = width_of(in.operands[3]) == 1;  // a predicate: nothing is read
    const Ref given = source(in.operands[3], ignores ? 1 : 32, false);
    if (!given.used()) return fail(in, "has operands of the wrong kind or width");
    size = ignores ? temp(32) : given;
    if (ignores && !emit_lane(in, "selp.b32", size, {constant(0, 32), constant(*bytes, 32), given}))
      return false;
  }
  Insn& out = emit_handler(in, copy_async_handler);
  out.a = to->base;
  out.b = from->base;
  out.c = size;
  out.wide_address = to->wide;
  out.imm = to->offset;
  out.mode = static_cast<uint8_t>(*bytes | (from->wide ? 0x80 : 0));
  out.e = constant(static_cast<uint64_t>(from->offset), 64);
  PipeCounts& pipes = block().pipes;
  ++pipes.memory;
  ++pipes.global_loads;
  return true;
}

}  // namespace gacer::simdevice
