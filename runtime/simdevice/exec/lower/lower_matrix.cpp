// SPDX-License-Identifier: Apache-2.0
// mma.sync, wmma, ldmatrix, stmatrix, movmatrix.
#include <bit>

#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/lower/matrix_words.h"
#include "runtime/simdevice/exec/matrix.h"

namespace gacer::simdevice {
namespace {

uint32_t register_bits(MatrixType type) {
  return type == MatrixType::kF64 ? 64 : 32;
}

bool is_float_sum(MatrixType type) {
  return type == MatrixType::kF32 || type == MatrixType::kF64;
}

std::vector<ptx::Operand> elements_of(const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::kVector ? operand.elements : std::vector{operand};
}

}  // namespace

// Appends the registers of a fragment to the lists. False: failed.
bool FunctionLowering::fragment_registers(const Instruction& in, const Operand& operand,
                                          uint32_t count, uint32_t bits, bool is_write,
                                          bool is_float) {
  const std::vector<Operand> elements = elements_of(operand);
  if (elements.size() != count) return fail(in, "has a wrong number of registers");
  for (const Operand& e : elements) {
    const Ref ref = is_write ? destination(e, bits) : source(e, bits, is_float);
    if (!ref.used()) return fail(in, "has operands of the wrong kind or width");
    out_.lists.push_back(ref);
  }
  return true;
}

// d, a, b, c {, indices, selector}
bool FunctionLowering::emit_product(const Instruction& in, const MatrixSpec& spec) {
  const size_t operands = spec.sparse ? 6 : 4;
  if (!expect_operands(in, operands, operands)) return false;
  const MatrixForm* form = find_matrix_form(spec);
  if (form == nullptr) return fail(in, "is not supported");
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  const Fragment* fragments[] = {&form->d, &form->a, &form->b, &form->c};
  for (size_t i = 0; i < 4; ++i)
    if (const Fragment& f = *fragments[i]; !fragment_registers(
            in, in.operands[i], f.registers, register_bits(f.type), i == 0, is_float_sum(f.type)))
      return false;
  uint64_t selector = 0;
  if (spec.sparse) {
    const auto given = literal(in.operands[5]);
    const uint64_t limit = form->halves ? 16 / (form->depth / form->chunk) : 1;
    if (!given || *given >= limit) return fail(in, "has a sparsity selector out of range");
    selector = *given;
    if (!fragment_registers(in, in.operands[4], 1, 32, false, false)) return false;
  }
  isolate();
  const size_t used = out_.lists.size() - first;
  Insn& insn = emit_handler(in, mma_handler);
  insn.list = {first, form->d.registers, static_cast<uint16_t>(used - form->d.registers)};
  insn.imm = std::bit_cast<int64_t>(form);
  insn.mode = static_cast<uint8_t>(selector);
  insn.latency = Latency::kTensor;
  block().pipes.tensor += matrix_cost_eighths(spec);
  return true;
}

// mma{.sp}.sync.aligned.mMnNkK.layout.layout{.satfinite}.dtype.atype.btype.ctype{.op.popc}
bool FunctionLowering::lower_mma(const Instruction& in) {
  MatrixWords words;
  if (!read_matrix_words(in, words) || words.types.size() != 4 || words.layouts.size() != 2 ||
      words.rounding)
    return fail(in, "is not supported");
  MatrixSpec spec = words.spec;
  spec.d = words.types[0];
  spec.a = words.types[1];
  spec.b = words.types[2];
  spec.c = words.types[3];
  spec.a_is_column = words.layouts[0] == "col";
  spec.b_is_row = words.layouts[1] == "row";
  spec.quads = spec.rows == 8 && spec.depth == 4 && spec.a == MatrixType::kF16;
  if (!spec.quads && (spec.a_is_column || spec.b_is_row)) return fail(in, "is not supported");
  if (spec.finite && spec.c != MatrixType::kS32) return fail(in, "is not supported");
  return emit_product(in, spec);
}

bool FunctionLowering::lower_wmma(const Instruction& in) {
  const auto& first = in.modifiers;
  if (!first.empty() && first[0] == "mma") return lower_wmma_product(in);
  return lower_wmma_move(in);
}

// wmma.mma{.op.popc}.sync.aligned.layout.layout.shape.types{.rnd}{.satfinite} d, a, b, c
bool FunctionLowering::lower_wmma_product(const Instruction& in) {
  MatrixWords words;
  const bool ok = read_matrix_words(in, words) && words.layouts.size() == 2 && !words.spec.sparse;
  if (!ok || (words.types.size() != 2 && words.types.size() != 4))
    return fail(in, "is not supported");
  MatrixSpec spec = words.spec;
  spec.wmma = true;
  spec.d = words.types.front();
  spec.c = words.types.back();
  if (words.types.size() == 4) {
    spec.a = words.types[1];
    spec.b = words.types[2];
    if (spec.a == MatrixType::kF16) return fail(in, "is not supported");
  }
  if (words.rounding && spec.a != MatrixType::kF64) return fail(in, "is not supported");
  const bool packed = matrix_bits(spec.a) < 8;
  if (packed && (words.layouts[0] != "row" || words.layouts[1] != "col"))
    return fail(in, "is not supported");
  return emit_product(in, spec);
}

// wmma.load.{a,b,c}.sync.aligned.layout.shape{.space}.type r, [p]{, stride}
// wmma.store.d.sync.aligned.layout.shape{.space}.type [p], r{, stride}
bool FunctionLowering::lower_wmma_move(const Instruction& in) {
  MatrixWords words;
  if (!read_matrix_words(in, words) || words.types.size() != 1 || words.layouts.size() != 1 ||
      in.modifiers.size() < 2 || words.spec.finite || words.rounding || words.spec.sparse)
    return fail(in, "is not supported");
  const bool is_store = in.modifiers[0] == "store";
  const std::string& which = in.modifiers[1];
  if (is_store ? which != "d" : in.modifiers[0] != "load" || which.find_first_not_of("abc") == 0)
    return fail(in, "is not supported");
  const MatrixOperand operand = which == "a"   ? MatrixOperand::kA
                                : which == "b" ? MatrixOperand::kB
                                               : MatrixOperand::kC;
  const MatrixSpec& shape = words.spec;
  const MatrixTile* tile =
      find_wmma_tile(operand, shape.rows, shape.columns, shape.depth, words.types[0]);
  const bool by_column = words.layouts[0] == "col";
  const bool wrong_way =
      tile != nullptr && tile->packed > 1 && by_column != (operand == MatrixOperand::kB);
  if (tile == nullptr || wrong_way) return fail(in, "is not supported");
  return emit_tile_move(in, *tile, by_column, words.is_shared, is_store,
                        words.types[0] == MatrixType::kF64 ? 64 : 32);
}

bool FunctionLowering::emit_tile_move(const Instruction& in, const MatrixTile& tile, bool by_column,
                                      std::optional<bool> is_shared, bool is_store, uint32_t bits) {
  if (!expect_operands(in, 2, 3)) return false;
  const auto at = address(in.operands[is_store ? 0 : 1]);
  if (!at || at->space == MemSpace::kLocal) return fail(in, "has an address that is not supported");
  const uint32_t run = (by_column ? tile.rows : tile.columns) * tile.packed;
  const Ref stride =
      in.operands.size() == 3 ? source(in.operands[2], 32, false) : constant(run, 32);
  if (!stride.used()) return fail(in, "has operands of the wrong kind or width");
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  if (!fragment_registers(in, in.operands[is_store ? 1 : 0], tile.registers, bits, !is_store, true))
    return false;
  isolate();
  Insn& insn = emit_handler(in, is_store ? wmma_store_handler : wmma_load_handler);
  insn.list = {first, static_cast<uint16_t>(is_store ? 0 : tile.registers),
               static_cast<uint16_t>(is_store ? tile.registers : 0)};
  insn.a = at->base;
  insn.b = stride;
  insn.e = constant(static_cast<uint64_t>(at->offset), 64);
  insn.wide_address = at->wide;
  insn.imm = std::bit_cast<int64_t>(&tile);
  insn.mode = by_column;
  insn.space = at->space    ? *at->space
               : !is_shared ? MemSpace::kGeneric
               : *is_shared ? MemSpace::kShared
                            : MemSpace::kGlobal;
  PipeCounts& pipes = block().pipes;
  pipes.memory += std::max<uint32_t>(1, tile.registers / 2);
  pipes.shared += insn.space == MemSpace::kShared;
  pipes.global_loads += !is_store && insn.space != MemSpace::kShared;
  return true;
}

// ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16 {r...}, [p]    stmatrix: operands the other
// way round
bool FunctionLowering::lower_matrix_load(const Instruction& in) {
  const bool is_store = in.opcode == "stmatrix";
  if (!in.has("m8n8") || !in.has("b16") || !expect_operands(in, 2, 2))
    return fail(in, "is not supported");
  const size_t count = in.has("x4") ? 4 : in.has("x2") ? 2 : 1;
  const auto at = address(in.operands[is_store ? 0 : 1]);
  if (!at || at->space == MemSpace::kLocal) return fail(in, "has operands of the wrong kind");
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  if (!fragment_registers(in, in.operands[is_store ? 1 : 0], static_cast<uint32_t>(count), 32,
                          !is_store, false))
    return false;
  isolate();
  Insn& insn = emit_handler(in, is_store ? store_matrix_handler : load_matrix_handler);
  insn.list = {first, static_cast<uint16_t>(is_store ? 0 : count),
               static_cast<uint16_t>(is_store ? count : 0)};
  insn.a = at->base;
  insn.wide_address = at->wide;
  insn.imm = at->offset;
  insn.mode = in.has("trans");
  insn.space = in.has("shared") || in.has("shared::cta") ? MemSpace::kShared : MemSpace::kGeneric;
  PipeCounts& pipes = block().pipes;
  ++pipes.memory;
  ++pipes.shared;
  return true;
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a
bool FunctionLowering::lower_move_matrix(const Instruction& in) {
  if (!in.has("m8n8") || !in.has("trans") || !in.has("b16") || !expect_operands(in, 2, 2))
    return fail(in, "is not supported");
  const Ref d = destination(in.operands[0], 32), a = source(in.operands[1], 32, false);
  if (!d.used() || !a.used()) return fail(in, "has operands of the wrong kind or width");
  isolate();
  Insn& insn = emit_handler(in, move_matrix_handler);
  insn.dst = d;
  insn.a = a;
  ++block().pipes.integer;
  return true;
}

}  // namespace gacer::simdevice
