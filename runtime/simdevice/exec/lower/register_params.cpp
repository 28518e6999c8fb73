// SPDX-License-Identifier: Apache-2.0
// Registers and literals as parameters: ".func (.reg .u32 r) f (.reg .u32 a)", "call (x), f, (y,
// 2);". They live in hidden .param variables, which the code here fills and reads.
#include "runtime/simdevice/exec/lower/lowering.h"

namespace gacer::simdevice {

// ld.param or st.param between a hidden variable and a register (or literal).
bool FunctionLowering::move_param(const Instruction& in, bool is_store, const std::string& slot,
                                  const Operand& value, uint32_t bytes) {
  Instruction access = in;
  access.opcode = is_store ? "st" : "ld";
  access.modifiers = {"param", "b" + std::to_string(bytes * 8)};
  Operand where;
  where.kind = Operand::Kind::kAddress;
  where.name = slot;
  access.operands = is_store ? std::vector{where, value} : std::vector{value, where};
  return dispatch(access);
}

// Declares the register parameters; their values come in by frame memory.
bool FunctionLowering::receive_register_params() {
  Instruction receive;
  receive.line = source_.line;
  for (const auto* list : {&source_.params, &source_.returns})
    for (const auto& p : *list) {
      if (p.space != ptx::Space::kReg) continue;
      scopes_.back().names[slot_of(p.name)] = *find(p.name);
      if (!declare_register(p)) return false;
      Operand value;
      value.name = p.name;
      const uint32_t bytes = static_cast<uint32_t>(*p.bytes());
      if (list == &source_.params && !move_param(receive, false, slot_of(p.name), value, bytes))
        return false;
    }
  return true;
}

// Before every return of a function.
bool FunctionLowering::send_register_results(const Instruction& in) {
  for (const auto& r : source_.returns) {
    if (r.space != ptx::Space::kReg) continue;
    Operand value;
    value.name = r.name;
    if (!move_param(in, true, slot_of(r.name), value, static_cast<uint32_t>(*r.bytes())))
      return false;
  }
  return true;
}

// Operands of a call that are no .param variables are replaced by hidden ones; arguments are stored
// there.
bool FunctionLowering::hide_operands(const Instruction& in, Operand& tuple,
                                     const std::vector<ptx::Variable>* declared, bool are_results) {
  for (size_t i = 0; i < tuple.elements.size(); ++i) {
    Operand& operand = tuple.elements[i];
    const Symbol* symbol = operand.kind == Operand::Kind::kName ? find(operand.name) : nullptr;
    if (symbol != nullptr && symbol->kind == SymbolKind::kFrame) continue;
    uint32_t bytes = width_of(operand) / 8;
    if (bytes == 0 && !are_results && declared != nullptr && i < declared->size())
      bytes = static_cast<uint32_t>((*declared)[i].bytes().value_or(0));
    if (bytes == 0 || bytes > 8 || (bytes & (bytes - 1)) != 0)
      return fail(in, "passes something that is neither a .param variable nor a register");
    frame_memory_ = (frame_memory_ + bytes - 1) / bytes * bytes;
    const std::string slot = slot_of(std::to_string(frame_memory_));
    scopes_.front().names[slot] = {SymbolKind::kFrame, 0, frame_memory_, bytes, 1};
    frame_memory_ += bytes;
    if (!are_results && !move_param(in, true, slot, operand, bytes)) return false;
    operand = Operand{};
    operand.name = slot;
  }
  return true;
}

}  // namespace gacer::simdevice
