// SPDX-License-Identifier: Apache-2.0
// mov: registers, special registers, addresses of variables, packing and unpacking.
#include <algorithm>

#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/memory_access.h"
#include "runtime/simdevice/exec/specials.h"
#include "runtime/simdevice/exec/warp_ops.h"

namespace gacer::simdevice {

bool FunctionLowering::lower_mov(const Instruction& in) {
  if (!expect_operands(in, 2, 2) || in.modifiers.empty()) return fail(in, "is malformed");
  const auto type = ptx::type_from(in.modifiers.back());
  if (!type) return fail(in, "needs a type");
  if (*type == ptx::Type::kPred) return lower_predicate_logic(in);
  const uint32_t bits = ptx::type_bytes(*type) * 8;
  if (bits == 128) return lower_wide_mov(in);
  const Operand& from = in.operands[1];
  if (in.operands[0].kind == Operand::Kind::kVector) return lower_unpack(in, bits);
  if (from.kind == Operand::Kind::kVector) return lower_pack(in, bits);
  if (bits > 64 || bits < 16) return fail(in, "is not supported");
  const Ref dst = destination(in.operands[0], bits);
  if (from.kind == Operand::Kind::kName) {
    const Symbol* symbol = find(from.name);
    if (symbol == nullptr && special_from(from.name)) return move_special(in, dst, bits);
    if (symbol != nullptr && symbol->kind == SymbolKind::kDynamicShared)
      return move_dynamic_shared(in, *symbol, dst, bits);
    if (symbol != nullptr && symbol->kind == SymbolKind::kFrame)
      return move_frame_address(in, *symbol, dst, bits);
  }
  const bool is_float = *type == ptx::Type::kF32 || *type == ptx::Type::kF64;
  return emit_lane(in, "mov.b" + std::to_string(bits), dst, {source(from, bits, is_float)});
}

bool FunctionLowering::is_wide(const Operand& operand) {
  const Symbol* symbol = operand.kind == Operand::Kind::kName ? find(operand.name) : nullptr;
  return symbol != nullptr && symbol->kind == SymbolKind::kWideRegister;
}

ptx::Operand FunctionLowering::wide_half(const Operand& operand, int half) {
  Operand out = operand;
  out.name += half == 0 ? ".0" : ".1";
  return out;
}

// mov.b128 q, {lo, hi}; mov.b128 {lo, hi}, q; mov.b128 q, q
bool FunctionLowering::lower_wide_mov(const Instruction& in) {
  Ref halves[2];
  const auto half_of = [&](const Operand& operand, size_t half) {
    if (operand.elements.size() == 2) return operand.elements[half];
    return is_wide(operand) ? wide_half(operand, static_cast<int>(half)) : Operand{};
  };
  for (size_t half : {0, 1}) {
    halves[half] = temp(64);
    const Operand from = half_of(in.operands[1], half);
    if (!emit_lane(in, "mov.b64", halves[half], {source(from, 64, false)})) return false;
  }
  for (size_t half : {0, 1}) {
    const Operand to = half_of(in.operands[0], half);
    if (!emit_lane(in, "mov.b64", destination(to, 64), {halves[half]})) return false;
  }
  return true;
}

bool FunctionLowering::lower_wide_memory(const Instruction& in) {
  const size_t data = in.opcode == "st" ? 1 : 0;
  if (!expect_operands(in, 2, 3) || in.operands.size() <= data || !is_wide(in.operands[data]))
    return fail(in, "is not supported");
  Instruction pair = in;
  pair.modifiers.back() = "v2";
  pair.modifiers.emplace_back("b64");
  Operand vector;
  vector.kind = Operand::Kind::kVector;
  for (int half : {0, 1}) vector.elements.push_back(wide_half(in.operands[data], half));
  pair.operands[data] = vector;
  return dispatch(pair);
}

// Special registers have 32 or 64 bits; moves of other widths cut or extend them.
bool FunctionLowering::move_special(const Instruction& in, Ref dst, uint32_t bits) {
  const std::string& name = in.operands[1].name;
  const auto info = special_from(name);
  if (is_clock(info->id)) {
    if (info->bits != bits || !dst.used()) return fail(in, "has operands of the wrong width");
    Insn& insn = emit_handler(in, clock_handler);
    insn.dst = dst;
    insn.mode = static_cast<uint8_t>(info->id);
    return true;
  }
  if (info->bits == 64) return emit_lane(in, "mov.b64", dst, {special(name, bits)});
  const char* row = bits == 16 ? "low.b32" : bits == 64 ? "cvt.u64.u32" : "mov.b32";
  return emit_lane(in, row, dst, {special(name, 32)});
}

bool FunctionLowering::move_dynamic_shared(const Instruction& in, const Symbol& symbol, Ref dst,
                                           uint32_t bits) {
  needs_.dynamic_shared = true;
  Ref base = special("%gacer_dynamic_shared", 32);
  if (const int64_t addend = addend_of(in.operands[1], symbol); addend != 0) {
    const Ref sum = temp(32);
    if (!emit_lane(in, "add.b32", sum, {base, constant(static_cast<uint64_t>(addend), 32)}))
      return false;
    base = sum;
  }
  return emit_lane(in, bits == 64 ? "cvt.u64.u32" : "mov.b32", dst, {base});
}

// Frame memory moves with the call depth, so its addresses are made at run time.
bool FunctionLowering::move_frame_address(const Instruction& in, const Symbol& symbol, Ref dst,
                                          uint32_t bits) {
  if (!dst.used() || bits < 32) return fail(in, "has a destination of the wrong width");
  const int64_t offset = static_cast<int64_t>(symbol.offset) + addend_of(in.operands[1], symbol);
  Insn& insn = emit_handler(in, local_address_handler);
  insn.dst = dst;
  insn.wide_address = bits == 64;
  insn.imm = offset;
  return true;
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
  if ((elements.size() != 2 && elements.size() != 4) || part_bits < 8)
    return fail(in, "packs what is not supported");
  std::vector<Ref> parts;
  for (const auto& e : elements) {
    parts.push_back(source(e, std::max<uint32_t>(part_bits, 16), false));  // bytes too
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
    const Ref part = temp(std::max<uint32_t>(bits / 2, 16));
    if (!emit_lane(in, half + std::to_string(bits), part, {from})) return;
    unpack(in, part, bits / 2, parts, part_bits);
  }
}

bool FunctionLowering::lower_unpack(const Instruction& in, uint32_t bits) {
  const auto& elements = in.operands[0].elements;
  const uint32_t part_bits = elements.empty() ? 0 : bits / static_cast<uint32_t>(elements.size());
  if ((elements.size() != 2 && elements.size() != 4) || part_bits < 8)
    return fail(in, "unpacks what is not supported");
  const Ref from = source(in.operands[1], bits, false);
  if (!from.used()) return fail(in, "has a source operand of the wrong kind or width");
  std::vector<Ref> parts;
  unpack(in, from, bits, parts, part_bits);
  if (parts.size() != elements.size()) return fail(in, "is not supported");
  for (size_t i = 0; i < parts.size(); ++i) {
    if (elements[i].kind == Operand::Kind::kName && elements[i].name == "_") continue;
    const uint32_t width = std::max<uint32_t>(part_bits, 16);
    if (!emit_lane(in, "mov.b" + std::to_string(width), destination(elements[i], width),
                   {parts[i]}))
      return false;
  }
  return true;
}

}  // namespace gacer::simdevice
