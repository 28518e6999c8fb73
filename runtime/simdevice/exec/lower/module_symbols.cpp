// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/lower/module_symbols.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMaxInitialisedBytes = 64u << 20;
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
constexpr uint64_t kMaxSharedBytes = 256u << 10;

Error at_line(uint32_t line, const std::string& what) {
  return Error{0, "line " + std::to_string(line) + ": " + what};
}

uint64_t align_up(uint64_t value, uint64_t align) {
  return (value + align - 1) & ~(align - 1);
}

// Writes an initialiser's leaves one after the other.
class InitialWriter {
 public:
  InitialWriter(const ptx::Variable& variable, ModuleSymbols& symbols, GlobalInfo& info)
      : variable_(variable),
        symbols_(symbols),
        info_(info),
        element_(ptx::type_bytes(variable.type)) {}

  Status write(const ptx::Initializer& init) { return write(init, 0); }

 private:
  // `level`: how many dimensions are entered. A nested list fills one sub-array, the rest stays
  // zero.
  Status write(const ptx::Initializer& init, size_t level) {
    if (init.kind != ptx::Initializer::Kind::kList) return leaf(init);
    const uint64_t begin = at_;
    for (const auto& element : init.elements)
      if (Status s = write(element, level + 1); !s.ok()) return s;
    if (level > 0 && level < variable_.dims.size()) {
      uint64_t span = element_ * variable_.vector;
      for (size_t d = level; d < variable_.dims.size(); ++d) span *= variable_.dims[d];
      at_ = std::max(at_, begin + span);
    }
    return {};
  }

  Status leaf(const ptx::Initializer& init) {
    if (at_ + element_ > info_.initial.size())
      return at_line(variable_.line.number, variable_.name + ": too many initial values");
    uint64_t bits = init.value.bits;
    if (init.kind == ptx::Initializer::Kind::kSymbol) {
      if (Status s = symbol(init, bits); !s.ok()) return s;
    } else if (variable_.type == ptx::Type::kF32) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(init.value.as_double()));
      if (init.value.kind == ptx::Immediate::Kind::kFloat32) bits = init.value.bits;
    } else if (variable_.type == ptx::Type::kF64) {
      bits = std::bit_cast<uint64_t>(init.value.as_double());
    }
    std::memcpy(info_.initial.data() + at_, &bits, element_);
    at_ += element_;
    return {};
  }

  Status symbol(const ptx::Initializer& init, uint64_t& bits) {
    bits = init.offset ? init.offset->bits : 0;
    if (init.masked || element_ != 8)
      return at_line(variable_.line.number,
                     variable_.name + ": only whole 64-bit addresses as initial values");
    if (const auto f = symbols_.function_index.find(init.symbol);
        f != symbols_.function_index.end()) {
      bits += kFunctionTag + f->second;
      return {};
    }
    const auto g = symbols_.global_index.find(init.symbol);
    if (g == symbols_.global_index.end())
      return at_line(variable_.line.number,
                     variable_.name + ": unknown symbol " + init.symbol + " in its initial value");
    info_.relocations.emplace_back(at_, g->second);
    return {};
  }

  const ptx::Variable& variable_;
  ModuleSymbols& symbols_;
  GlobalInfo& info_;
  const uint64_t element_;
  uint64_t at_ = 0;
};

// A sized array may leave its first dimension to the initialiser.
uint64_t bytes_of(const ptx::Variable& v) {
  if (const auto bytes = v.bytes()) return *bytes;
  if (v.dims.size() != 1 || v.dims[0] != 0 || !v.initial) return 0;
  return uint64_t{ptx::type_bytes(v.type)} * v.vector * v.initial->elements.size();
}

Status add_global(const ptx::Variable& v, ModuleSymbols& out) {
  GlobalInfo info;
  info.name = v.name;
  info.bytes = bytes_of(v);
  info.align = v.natural_align();
  info.is_const = v.space == ptx::Space::kConst;
  info.is_managed = v.attributes.find("managed") != std::string::npos;
  if (v.linkage == "extern" && out.global_index.contains(v.name)) return {};
  if (v.linkage == "extern")
    return at_line(v.line.number, v.name + ": extern variables of other modules are not supported");
  if (info.bytes == 0 || info.bytes > kMaxVariableBytes)
    return at_line(v.line.number, v.name + ": its size is not known or too large");
  if (v.initial && info.bytes > kMaxInitialisedBytes)
    return at_line(v.line.number, v.name + ": too large for an initialised variable");
  if (!out.global_index.emplace(v.name, static_cast<uint32_t>(out.globals.size())).second)
    return at_line(v.line.number, v.name + " is defined twice");
  out.globals.push_back(std::move(info));
  out.global_element.push_back(ptx::type_bytes(v.type));
  return {};
}

Status add_variable(const ptx::Variable& v, ModuleSymbols& out) {
  if (v.space == ptx::Space::kGlobal || v.space == ptx::Space::kConst) return add_global(v, out);
  if (v.space != ptx::Space::kShared)
    return at_line(v.line.number, v.name + ": not a module-scope variable");
  if (v.linkage == "extern" && !v.bytes()) {
    out.shared[v.name] = {0, true, ptx::type_bytes(v.type)};
    out.dynamic_align = std::max(out.dynamic_align, v.natural_align());
    return {};
  }
  const uint64_t bytes = v.bytes().value_or(0);
  if (bytes == 0 || bytes > kMaxSharedBytes)
    return at_line(v.line.number, v.name + ": its size is not known or too large");
  out.shared_bytes = align_up(out.shared_bytes, v.natural_align());
  out.shared[v.name] = {out.shared_bytes, false, ptx::type_bytes(v.type)};
  out.shared_bytes += bytes;
  return {};
}

void add_function(const ptx::Function& f, ModuleSymbols& out) {
  const auto [it, fresh] =
      out.function_index.emplace(f.name, static_cast<uint32_t>(out.functions.size()));
  if (fresh) {
    out.functions.push_back(&f);
  } else if (f.has_body) {
    out.functions[it->second] = &f;
  }
}

}  // namespace

uint32_t ConstantPool::append(uint64_t value, uint32_t bits) {
  while (words_.size() % 8 != 0) words_.push_back(0);
  const uint32_t offset = static_cast<uint32_t>(words_.size() * 8);
  uint64_t word = value;
  if (bits == 32) word = (value & 0xffffffffu) * 0x100000001u;
  if (bits == 16) word = (value & 0xffffu) * 0x1000100010001u;
  words_.insert(words_.end(), bits * kLanes / 64, word);
  return offset;
}

Ref ConstantPool::constant(uint64_t value, uint32_t bits) {
  if (bits < 64) value &= (uint64_t{1} << bits) - 1;
  const auto [it, fresh] = known_.emplace(std::pair{value, bits}, 0);
  if (fresh) it->second = append(value, bits);
  return Ref::make(Bank::kConst, it->second);
}

Ref ConstantPool::global_address(uint32_t global, int64_t addend) {
  const auto [it, fresh] = known_addresses_.emplace(std::pair{global, addend}, 0);
  if (fresh) {
    it->second = append(0, 64);
    addresses_.push_back({it->second, global, addend});
  }
  return Ref::make(Bank::kConst, it->second);
}

Status collect_symbols(const ptx::Module& module, ModuleSymbols& out) {
  for (const auto& item : module.items)
    if (const auto* f = std::get_if<ptx::Function>(&item)) add_function(*f, out);
  for (const auto& item : module.items)
    if (const auto* v = std::get_if<ptx::Variable>(&item))
      if (Status s = add_variable(*v, out); !s.ok()) return s;
  for (const auto& item : module.items) {
    const auto* v = std::get_if<ptx::Variable>(&item);
    if (v == nullptr || !v->initial || v->space == ptx::Space::kShared) continue;
    GlobalInfo& info = out.globals[out.global_index[v->name]];
    info.initial.resize(info.bytes);
    if (Status s = InitialWriter(*v, out, info).write(*v->initial); !s.ok()) return s;
  }
  for (const auto& item : module.items)
    if (const auto* a = std::get_if<ptx::Alias>(&item)) {
      const auto target = out.function_index.find(a->target);
      if (target == out.function_index.end())
        return Error{0, "alias " + a->name + ": no function " + a->target};
      out.function_index[a->name] = target->second;
    }
  return {};
}

Status layout_params(const std::vector<ptx::Variable>& params, std::vector<ParamSlot>& slots,
                     uint32_t& end) {
  constexpr uint64_t kMaxParamBytes = 32764;
  uint64_t at = end;
  for (const auto& p : params) {
    const auto bytes = p.bytes();
    if (!bytes || *bytes == 0)
      return at_line(p.line.number, p.name + ": a parameter of unknown size");
    at = align_up(at, p.natural_align());
    slots.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(*bytes), p.natural_align()});
    at += *bytes;
    if (*bytes > kMaxParamBytes || at > kMaxParamBytes)
      return at_line(p.line.number, p.name + ": more than 32764 bytes of parameters");
  }
  end = static_cast<uint32_t>(at);
  return {};
}

}  // namespace gacer::simdevice
