// SPDX-License-Identifier: Apache-2.0
// Names, scopes, basic blocks and emission; the instruction families are in lower_*.cpp.
#include "runtime/simdevice/exec/lower/lowering.h"

#include <algorithm>
#include <charconv>

#include "runtime/ptx/printer.h"
#include "runtime/simdevice/exec/specials.h"

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMaxFrameMemory = 512u << 10;
constexpr uint64_t kMaxSharedBytes = 256u << 10;

uint64_t align_up(uint64_t value, uint64_t align) {
  return (value + align - 1) & ~(align - 1);
}

uint8_t register_bits(ptx::Type type) {
  if (type == ptx::Type::kPred) return 1;
  const uint32_t bytes = ptx::type_bytes(type);
  return static_cast<uint8_t>(bytes == 1 ? 16 : bytes * 8);
}

}  // namespace

FunctionLowering::FunctionLowering(ModuleSymbols& module, const ptx::Function& source,
                                   FunctionCode& out, KernelNeeds& needs)
    : module_(module), source_(source), out_(out), needs_(needs) {}

Status FunctionLowering::run() {
  scopes_.emplace_back();
  out_.name = source_.name;
  out_.is_entry = source_.is_entry;
  // Number 0 stays unused, so that no name has it.
  new_register(64);
  begin_block();
  if (!declare_params()) return Error{0, error_};
  collect_labels(source_.body, scopes_.back());
  if (!statements(source_.body)) return Error{0, error_};
  guard_ = {};
  if (!source_.is_entry && !send_register_results(Instruction{})) return Error{0, error_};
  end_block(source_.is_entry ? Terminator::kExit : Terminator::kReturn);
  finish_blocks();
  out_.local_bytes = static_cast<uint32_t>(align_up(frame_memory_, 16));
  out_.defined = true;
  find_rejoin_points(out_);
  find_chains(out_);
  if (!allocate_registers(out_) || module_.pool.full())
    return Error{0, "line " + std::to_string(source_.line.number) + ": " + source_.name +
                        ": too many registers or constants"};
  return {};
}

bool FunctionLowering::fail(const Instruction& in, const std::string& why) {
  if (error_.empty())
    error_ =
        "line " + std::to_string(in.line.number) + ": " + ptx::print(in).substr(0, 160) + " " + why;
  return false;
}

bool FunctionLowering::expect_operands(const Instruction& in, size_t least, size_t most) {
  if (in.operands.size() >= least && in.operands.size() <= most) return true;
  return fail(in, "has a wrong number of operands");
}

// ---- declarations

uint32_t FunctionLowering::new_register(uint32_t bits) {
  out_.reg_bits.push_back(static_cast<uint8_t>(bits));
  return static_cast<uint32_t>(out_.reg_bits.size() - 1);
}

uint32_t FunctionLowering::bits_of(Ref ref) const {
  return out_.reg_bits[ref.offset()];
}

bool FunctionLowering::declare_register(const ptx::Variable& v) {
  const uint8_t bits = register_bits(v.type);
  Scope& scope = scopes_.back();
  if (!v.dims.empty() || bits == 0 || (v.vector != 1 && (v.count || v.vector > 4))) {
    error_ = "line " + std::to_string(v.line.number) + ": " + v.name +
             ": registers of this shape are not supported";
    return false;
  }
  if (v.vector != 1) {
    declare_vector(scope, v, bits);
    return true;
  }
  if (v.count) {
    scope.families.push_back({v.name, *v.count, bits});
  } else {
    declare_register_name(scope, v.name, bits);
  }
  return true;
}

// v.x and v.r are one register.
void FunctionLowering::declare_vector(Scope& scope, const ptx::Variable& v, uint32_t bits) {
  for (uint32_t i = 0; i < v.vector; ++i) {
    const Symbol element = *declare_register_name(scope, v.name + "." + "xyzw"[i], bits);
    scope.names[v.name + "." + "rgba"[i]] = element;
  }
  has_vectors_ = true;
}

// "ld.v4.f32 v, [a]" with a vector register for {v.x, v.y, v.z, v.w}.
void FunctionLowering::expand_vectors(Instruction& in) {
  for (Operand& operand : in.operands) {
    if (operand.kind != Operand::Kind::kName || find(operand.name) != nullptr) continue;
    std::vector<Operand> elements;
    for (char c : {'x', 'y', 'z', 'w'}) {
      Operand element = operand;
      element.name += std::string(".") + c;
      if (find(element.name) != nullptr) elements.push_back(element);
    }
    if (elements.empty()) continue;
    operand.kind = Operand::Kind::kVector;
    operand.elements = std::move(elements);
  }
}

// A dot cannot be part of a name in the text, so the halves of a wide register are out of reach.
const FunctionLowering::Symbol* FunctionLowering::declare_register_name(Scope& scope,
                                                                        const std::string& name,
                                                                        uint32_t bits) {
  if (bits <= 64)
    return &(scope.names[name] = {SymbolKind::kRegister, new_register(bits), 0, 0, 1});
  for (const char* half : {".0", ".1"})
    scope.names[name + half] = {SymbolKind::kRegister, new_register(64), 0, 0, 1};
  return &(scope.names[name] = {SymbolKind::kWideRegister, 0, 0, 0, 1});
}

bool FunctionLowering::declare_memory(const ptx::Variable& v) {
  const auto bytes = v.bytes();
  const bool is_shared = v.space == ptx::Space::kShared;
  uint64_t& end = is_shared ? needs_.shared_bytes : frame_memory_;
  if (is_shared && v.linkage == "extern") {
    module_.dynamic_align = std::max(module_.dynamic_align, v.natural_align());
    scopes_.back().names[v.name] = {SymbolKind::kDynamicShared, 0, 0, 0, 1};
    return true;
  }
  if (is_shared && !source_.is_entry)
    return error_ = "line " + std::to_string(v.line.number) + ": " + v.name +
                    ": shared variables in functions are not supported",
           false;
  const uint64_t begin = align_up(end, v.natural_align());
  if (!bytes || *bytes == 0 || *bytes > kMaxFrameMemory ||
      begin + *bytes > (is_shared ? kMaxSharedBytes : kMaxFrameMemory)) {
    error_ = "line " + std::to_string(v.line.number) + ": " + v.name +
             ": its size is not known or too large";
    return false;
  }
  scopes_.back().names[v.name] = {is_shared ? SymbolKind::kShared : SymbolKind::kFrame, 0, begin,
                                  static_cast<uint32_t>(*bytes), ptx::type_bytes(v.type)};
  end = begin + *bytes;
  return true;
}

bool FunctionLowering::declare(const ptx::Variable& v) {
  switch (v.space) {
    case ptx::Space::kReg:
      return declare_register(v);
    case ptx::Space::kShared:
    case ptx::Space::kLocal:
    case ptx::Space::kParam:
      return declare_memory(v);
    default:
      error_ = "line " + std::to_string(v.line.number) + ": " + v.name +
               ": variables in this state space belong to module scope";
      return false;
  }
}

bool FunctionLowering::declare_params() {
  for (const auto& list : {&source_.params, &source_.returns})
    for (const auto& p : *list)
      if (p.space != ptx::Space::kParam && (p.space != ptx::Space::kReg || source_.is_entry)) {
        error_ = "line " + std::to_string(p.line.number) + ": " + p.name +
                 ": a parameter must be in .param, or of a function in .reg";
        return false;
      }
  uint32_t end = 0;
  Status laid = layout_params(source_.params, out_.params, end);
  if (laid.ok()) laid = layout_params(source_.returns, out_.returns, end);
  if (!laid.ok()) return error_ = laid.error().message, false;
  const SymbolKind kind = source_.is_entry ? SymbolKind::kParam : SymbolKind::kFrame;
  for (size_t i = 0; i < source_.params.size(); ++i)
    scopes_.back().names[source_.params[i].name] = {kind, 0, out_.params[i].offset,
                                                    out_.params[i].bytes, 1};
  for (size_t i = 0; i < source_.returns.size(); ++i)
    scopes_.back().names[source_.returns[i].name] = {kind, 0, out_.returns[i].offset,
                                                     out_.returns[i].bytes, 1};
  if (!source_.is_entry) frame_memory_ = end;
  return receive_register_params();
}

// ---- lookup

const FunctionLowering::Symbol* FunctionLowering::find_family_member(Scope& scope,
                                                                     const std::string& name) {
  for (const Family& family : scope.families) {
    if (name.size() <= family.prefix.size() ||
        name.compare(0, family.prefix.size(), family.prefix) != 0)
      continue;
    const char* begin = name.data() + family.prefix.size();
    const char* end = name.data() + name.size();
    uint32_t number = 0;
    const auto [stop, ec] = std::from_chars(begin, end, number);
    if (ec != std::errc{} || stop != end || number >= family.count ||
        (*begin == '0' && end - begin > 1))
      continue;
    return declare_register_name(scope, name, family.bits);
  }
  return nullptr;
}

const FunctionLowering::Symbol* FunctionLowering::find(const std::string& name) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    const auto it = scopes_[i].names.find(name);
    if (it != scopes_[i].names.end()) return &it->second;
    if (const Symbol* member = find_family_member(scopes_[i], name)) return member;
  }
  Symbol symbol;
  if (const auto s = module_.shared.find(name); s != module_.shared.end()) {
    (s->second.dynamic ? needs_.dynamic_shared : needs_.module_shared) = true;
    symbol = {s->second.dynamic ? SymbolKind::kDynamicShared : SymbolKind::kShared, 0,
              s->second.offset, 0, s->second.element};
  } else if (const auto g = module_.global_index.find(name); g != module_.global_index.end()) {
    symbol = {SymbolKind::kGlobal, g->second, 0, 0, module_.global_element[g->second]};
  } else if (const auto f = module_.function_index.find(name); f != module_.function_index.end()) {
    symbol = {SymbolKind::kFunction, f->second, 0, 0, 1};
  } else {
    return nullptr;
  }
  return &(scopes_.front().names[name] = symbol);
}

std::optional<uint32_t> FunctionLowering::find_label(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > 0;)
    if (const auto it = scopes_[i].labels.find(name); it != scopes_[i].labels.end())
      return it->second;
  return std::nullopt;
}

// ---- statements

void FunctionLowering::collect_labels(const std::vector<ptx::Statement>& body, Scope& scope) {
  for (const auto& s : body) {
    if (const auto* label = std::get_if<ptx::Label>(&s.node))
      scope.labels[label->name] = new_label();
    if (const auto* list = std::get_if<ptx::TargetList>(&s.node))
      scope.target_lists[list->name] = list;
  }
}

bool FunctionLowering::statements(const std::vector<ptx::Statement>& body) {
  for (const auto& s : body)
    if (!std::visit([this](const auto& node) { return statement(node); }, s.node)) return false;
  return true;
}

bool FunctionLowering::statement(const ptx::Scope& scope) {
  scopes_.emplace_back();
  collect_labels(scope.body, scopes_.back());
  const bool ok = statements(scope.body);
  scopes_.pop_back();
  return ok;
}

bool FunctionLowering::statement(const ptx::Declaration& declaration) {
  return std::all_of(declaration.variables.begin(), declaration.variables.end(),
                     [this](const auto& v) { return declare(v); });
}

bool FunctionLowering::statement(const ptx::Label& label) {
  place(scopes_.back().labels[label.name]);
  return true;
}

bool FunctionLowering::statement(const ptx::Instruction& in) {
  guard_ = {};
  guard_negated_ = false;
  if (in.guard) {
    guard_ = predicate(in.guard->predicate);
    guard_negated_ = in.guard->negated;
    if (!guard_.used()) return fail(in, "is guarded by something that is not a predicate");
  }
  if (!has_vectors_) return dispatch(in);
  Instruction expanded = in;
  expand_vectors(expanded);
  return dispatch(expanded);
}

// ---- blocks

void FunctionLowering::begin_block() {
  out_.blocks.emplace_back();
  block().first = static_cast<uint32_t>(out_.insns.size());
}

BasicBlock& FunctionLowering::end_block(Terminator term) {
  const size_t index = out_.blocks.size() - 1;
  BasicBlock& ended = out_.blocks[index];
  ended.term = term;
  ended.count = static_cast<uint32_t>(out_.insns.size()) - ended.first;
  ended.issued = ended.count + (term != Terminator::kFall);
  ended.next = static_cast<uint32_t>(index + 1);
  begin_block();
  return out_.blocks[index];
}

void FunctionLowering::place(uint32_t label) {
  if (block().first != out_.insns.size()) end_block(Terminator::kFall);
  label_blocks_[label] = static_cast<uint32_t>(out_.blocks.size() - 1);
}

void FunctionLowering::isolate() {
  if (block().first != out_.insns.size()) end_block(Terminator::kFall);
}

// Labels become blocks; the empty block after the last terminator ends the function.
void FunctionLowering::finish_blocks() {
  BasicBlock& last = block();
  last.term = source_.is_entry ? Terminator::kExit : Terminator::kReturn;
  last.issued = 1;
  for (BasicBlock& bb : out_.blocks)
    if (bb.target != kNoBlock) bb.target = label_blocks_[bb.target];
  for (auto& targets : out_.switches)
    for (uint32_t& target : targets) target = label_blocks_[target];
}

// ---- operands

Ref FunctionLowering::predicate(const std::string& name) {
  const Symbol* symbol = find(name);
  if (symbol == nullptr || symbol->kind != SymbolKind::kRegister ||
      out_.reg_bits[symbol->index] != 1)
    return {};
  return Ref::make(Bank::kFrame, symbol->index);
}

Ref FunctionLowering::special(std::string_view name, uint32_t bits) {
  const auto info = special_from(name);
  if (!info || info->bits != bits || is_clock(info->id)) return {};  // clocks: by mov only
  needs_.special_used |= uint64_t{1} << static_cast<uint32_t>(info->id);
  if (info->id == Special::kEnvreg1 || info->id == Special::kEnvreg2) needs_.grid_barrier = true;
  return Ref::make(Bank::kSpecial, special_offset(info->id));
}

Ref FunctionLowering::immediate(const ptx::Immediate& value, uint32_t bits, bool is_float) {
  using Kind = ptx::Immediate::Kind;
  if (is_float && bits == 32 && value.kind != Kind::kFloat32)
    return constant(__builtin_bit_cast(uint32_t, static_cast<float>(value.as_double())), 32);
  if (bits == 64 && (value.kind == Kind::kFloat32 || (is_float && value.kind == Kind::kInteger)))
    return constant(__builtin_bit_cast(uint64_t, value.as_double()), 64);
  if (bits == 32 && value.kind == Kind::kFloat64)
    return constant(__builtin_bit_cast(uint32_t, static_cast<float>(value.as_double())), 32);
  return constant(value.bits, bits);
}

Ref FunctionLowering::address_constant(const Symbol& symbol, int64_t addend, uint32_t bits) {
  switch (symbol.kind) {
    case SymbolKind::kGlobal:
      return bits == 64 ? module_.pool.global_address(symbol.index, addend) : Ref{};
    case SymbolKind::kShared:
    case SymbolKind::kParam:
      return constant(symbol.offset + static_cast<uint64_t>(addend), bits);
    case SymbolKind::kFunction:
      return bits == 64 ? constant(kFunctionTag + symbol.index, 64) : Ref{};
    default:
      return {};
  }
}

int64_t FunctionLowering::addend_of(const Operand& operand, const Symbol& symbol) {
  uint64_t addend = operand.offset ? operand.offset->bits : 0;
  if (operand.subscript) addend += operand.subscript->bits * symbol.element;
  return static_cast<int64_t>(addend);
}

Ref FunctionLowering::name_source(const Operand& operand, uint32_t bits) {
  if (operand.name == "WARP_SZ") return constant(kLanes, bits);
  const Symbol* symbol = find(operand.name);
  if (symbol == nullptr) return special(operand.name, bits);
  if (symbol->kind != SymbolKind::kRegister)
    return address_constant(*symbol, addend_of(operand, *symbol), bits);
  if (out_.reg_bits[symbol->index] != bits || operand.offset || operand.subscript) return {};
  return Ref::make(Bank::kFrame, symbol->index);
}

Ref FunctionLowering::source(const Operand& operand, uint32_t bits, bool is_float) {
  if (operand.negated || !operand.second.empty()) return {};
  if (operand.kind == Operand::Kind::kImmediate)
    return bits == 1 ? Ref{} : immediate(*operand.offset, bits, is_float);
  if (operand.kind != Operand::Kind::kName) return {};
  return bits == 1 ? predicate(operand.name) : name_source(operand, bits);
}

Ref FunctionLowering::destination(const Operand& operand, uint32_t bits) {
  if (operand.kind != Operand::Kind::kName || operand.negated) return {};
  if (operand.name == "_") return temp(bits);
  const Symbol* symbol = find(operand.name);
  if (symbol == nullptr || symbol->kind != SymbolKind::kRegister ||
      out_.reg_bits[symbol->index] != bits)
    return {};
  return Ref::make(Bank::kFrame, symbol->index);
}

std::optional<uint64_t> FunctionLowering::literal(const Operand& operand) const {
  if (operand.kind == Operand::Kind::kImmediate) return operand.offset->bits;
  if (operand.kind == Operand::Kind::kName && operand.name == "WARP_SZ") return kLanes;
  return std::nullopt;
}

uint32_t FunctionLowering::width_of(const Operand& operand) {
  if (operand.kind != Operand::Kind::kName) return 0;
  if (const Symbol* symbol = find(operand.name))
    return symbol->kind == SymbolKind::kRegister ? out_.reg_bits[symbol->index] : 0;
  const auto info = special_from(operand.name);
  return info ? info->bits : 0;
}

// ---- emitting

Insn& FunctionLowering::emit(const Instruction& in) {
  Insn insn;
  insn.line = in.line.number;
  insn.guard = guard_;
  insn.guard_negated = guard_negated_;
  out_.insns.push_back(insn);
  return out_.insns.back();
}

Insn& FunctionLowering::emit_handler(const Instruction& in, Handler handler) {
  Insn& insn = emit(in);
  insn.handler = handler;
  return insn;
}

void FunctionLowering::count_pipe(Pipe pipe) {
  PipeCounts& pipes = block().pipes;
  ++(pipe == Pipe::kInt    ? pipes.integer
     : pipe == Pipe::kFp32 ? pipes.fp32
     : pipe == Pipe::kFp64 ? pipes.fp64
                           : pipes.sfu);
  if (out_.insns.empty()) return;
  out_.insns.back().latency = pipe == Pipe::kFp64  ? Latency::kFp64
                              : pipe == Pipe::kSfu ? Latency::kSfu
                                                   : Latency::kAlu;
}

bool FunctionLowering::emit_lane(const Instruction& in, const std::string& name, Ref dst,
                                 std::initializer_list<Ref> sources) {
  const LaneOp* op = find_lane_op(name);
  if (op == nullptr) return fail(in, "is not supported");
  if (!dst.used()) return fail(in, "has a destination of the wrong kind or width");
  Insn& insn = emit(in);
  insn.kind = InsnKind::kLane;
  insn.lane = op->fn;
  insn.dst = dst;
  insn.dst_bits = op->dst_bits;
  Ref* slots[] = {&insn.a, &insn.b, &insn.c, &insn.e};
  size_t i = 0;
  for (Ref ref : sources) {
    if (!ref.used()) return fail(in, "has a source operand of the wrong kind or width");
    *slots[i++] = ref;
  }
  count_pipe(op->pipe);
  if (name.compare(0, 4, "mov.") == 0) insn.latency = Latency::kNone;
  return true;
}

uint32_t FunctionLowering::add_list(std::initializer_list<Ref> refs) {
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  out_.lists.insert(out_.lists.end(), refs);
  return first;
}

}  // namespace gacer::simdevice
