// SPDX-License-Identifier: Apache-2.0
// mma.sync, ldmatrix, stmatrix.
#include <bit>
#include <charconv>

#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/matrix.h"

namespace gacer::simdevice {
namespace {

struct MatrixTypeRow {
  std::string_view name;
  MatrixType type;
  uint32_t bits;
};
constexpr MatrixTypeRow kTypes[] = {
    {"f16", MatrixType::kF16, 16}, {"bf16", MatrixType::kBf16, 16}, {"tf32", MatrixType::kTf32, 32},
    {"f64", MatrixType::kF64, 64}, {"s8", MatrixType::kS8, 8},      {"u8", MatrixType::kU8, 8},
};

const MatrixTypeRow* matrix_type(std::string_view name) {
  for (const auto& row : kTypes)
    if (row.name == name) return &row;
  return nullptr;
}

// "m16n8k16"
bool parse_shape(std::string_view text, uint32_t& m, uint32_t& n, uint32_t& k) {
  const char* at = text.data();
  const char* end = at + text.size();
  for (auto [letter, value] : {std::pair{'m', &m}, std::pair{'n', &n}, std::pair{'k', &k}}) {
    if (at == end || *at != letter) return false;
    const auto [stop, ec] = std::from_chars(at + 1, end, *value);
    if (ec != std::errc{}) return false;
    at = stop;
  }
  return at == end;
}

// The shapes of the ISA whose fragments lane_matrix.h describes.
bool known_shape(uint32_t m, uint32_t n, uint32_t k, uint32_t bits) {
  if (n != 8) return false;
  if (bits == 64) return (m == 8 && k == 4) || (m == 16 && (k == 4 || k == 8 || k == 16));
  if (bits == 32) return m == 16 && (k == 4 || k == 8);
  if (bits == 16) return m == 16 && (k == 8 || k == 16);
  return (m == 16 && (k == 16 || k == 32)) || (m == 8 && k == 16);
}

}  // namespace

// mma.sync.aligned.mMnNkK.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c
bool FunctionLowering::lower_mma(const Instruction& in) {
  const auto& words = in.modifiers;
  uint32_t m = 0, n = 0, k = 0;
  if (words.size() != 9 || words[0] != "sync" || words[1] != "aligned" || words[3] != "row" ||
      words[4] != "col" || !parse_shape(words[2], m, n, k) || !expect_operands(in, 4, 4))
    return fail(in, "is not supported");
  const MatrixTypeRow *a = matrix_type(words[6]), *b = matrix_type(words[7]);
  if (a == nullptr || b == nullptr || a->bits != b->bits || (a->bits != 8 && a != b) ||
      words[5] != words[8] || !known_shape(m, n, k, a->bits))
    return fail(in, "is not supported");
  const std::string_view sum = words[5];
  const bool fits = a->bits == 8    ? sum == "s32"
                    : a->bits == 64 ? sum == "f64"
                                    : sum == "f32" || (sum == "f16" && a->type == MatrixType::kF16);
  if (!fits) return fail(in, "is not supported");
  MatrixShape shape;
  shape.rows = static_cast<uint8_t>(m);
  shape.depth = static_cast<uint8_t>(k);
  shape.a_type = a->type;
  shape.b_type = b->type;
  shape.half_sum = sum == "f16";
  const uint32_t reg_bits = a->bits == 64 ? 64 : 32;
  shape.a_count = static_cast<uint8_t>(m * k * a->bits / (kLanes * reg_bits));
  shape.b_count = static_cast<uint8_t>(k * 8 * a->bits / (kLanes * reg_bits));
  shape.c_count = static_cast<uint8_t>(m * 8 / kLanes / (shape.half_sum ? 2 : 1));
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  const uint8_t counts[] = {shape.c_count, shape.a_count, shape.b_count, shape.c_count};
  for (size_t i = 0; i < 4; ++i) {
    const Operand& o = in.operands[i];
    const std::vector<Operand> elements =
        o.kind == Operand::Kind::kVector ? o.elements : std::vector<Operand>{o};
    if (elements.size() != counts[i]) return fail(in, "has a wrong number of registers");
    for (const Operand& e : elements) {
      const Ref ref = i == 0 ? destination(e, reg_bits)
                             : source(e, reg_bits, a->bits >= 16 && !shape.half_sum && i == 3);
      if (!ref.used()) return fail(in, "has operands of the wrong kind or width");
      out_.lists.push_back(ref);
    }
  }
  isolate();
  Insn& insn = emit_handler(in, mma_handler);
  insn.list = {first, shape.c_count,
               static_cast<uint16_t>(shape.a_count + shape.b_count + shape.c_count)};
  insn.imm = std::bit_cast<int64_t>(shape);
  ++block().pipes.tensor;
  return true;
}

// ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16 {r...}, [p]    stmatrix: operands the other
// way round
bool FunctionLowering::lower_matrix_load(const Instruction& in) {
  const bool is_store = in.opcode == "stmatrix";
  if (!in.has("m8n8") || !in.has("b16") || !expect_operands(in, 2, 2))
    return fail(in, "is not supported");
  const Operand& data = in.operands[is_store ? 1 : 0];
  const size_t count = in.has("x4") ? 4 : in.has("x2") ? 2 : 1;
  const std::vector<Operand> elements =
      data.kind == Operand::Kind::kVector ? data.elements : std::vector<Operand>{data};
  const auto at = address(in.operands[is_store ? 0 : 1]);
  if (elements.size() != count || !at || at->space == MemSpace::kLocal)
    return fail(in, "has operands of the wrong kind");
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  for (const Operand& e : elements) {
    const Ref ref = is_store ? source(e, 32, false) : destination(e, 32);
    if (!ref.used()) return fail(in, "has operands of the wrong kind or width");
    out_.lists.push_back(ref);
  }
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

}  // namespace gacer::simdevice
