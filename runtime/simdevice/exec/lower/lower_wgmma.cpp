// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async and what orders it.
#include <algorithm>
#include <bit>

#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/lower/matrix_words.h"
#include "runtime/simdevice/exec/wgmma.h"

namespace gacer::simdevice {
namespace {

bool is_float_type(MatrixType t) {
  return t == MatrixType::kF16 || t == MatrixType::kBf16 || t == MatrixType::kTf32 ||
         t == MatrixType::kE4m3 || t == MatrixType::kE5m2;
}
bool may_transpose(MatrixType t) {
  return t == MatrixType::kF16 || t == MatrixType::kBf16;
}

// The product of eight columns by one warp; nullptr: there is no such wgmma.
const MatrixForm* eight_columns(const MatrixSpec& spec) {
  const uint32_t most = 256;
  if (spec.rows != 64 || spec.columns % 8 != 0 || spec.columns == 0 || spec.columns > most)
    return nullptr;
  if (matrix_bits(spec.a) * spec.depth != 256) return nullptr;
  if (spec.product == MatrixProduct::kXorPopc || spec.a == MatrixType::kS4 ||
      spec.a == MatrixType::kU4 || spec.a == MatrixType::kF64)
    return nullptr;
  MatrixSpec part = spec;
  part.rows = 16;
  part.columns = 8;
  return find_matrix_form(part);
}

}  // namespace

// 1 or -1.
bool FunctionLowering::scale_of(const Operand& operand, bool& negated) {
  const auto value = literal(operand);
  if (!value || (*value != 1 && *value != ~uint64_t{0})) return false;
  negated ^= *value != 1;
  return true;
}

// wgmma.mma_async.sync.aligned.m64nNkK.dtype.atype.btype d, a, b-desc, scale-d
//   {, scale-a, scale-b {, trans-a (a in shared memory)}, trans-b}
bool FunctionLowering::lower_wgmma(const Instruction& in) {
  if (in.modifiers.empty()) return fail(in, "is not supported");
  const std::string& what = in.modifiers[0];
  // Products are done when they are issued.
  if (what == "fence" || what == "commit_group" || what == "wait_group") return true;
  MatrixWords words;
  if (what != "mma_async" || !read_matrix_words(in, words) || words.types.size() != 3 ||
      !words.layouts.empty() || words.rounding || words.spec.sparse)
    return fail(in, "is not supported");
  MatrixSpec spec = words.spec;
  spec.d = spec.c = words.types[0];
  spec.a = words.types[1];
  spec.b = words.types[2];
  if (spec.finite && spec.d != MatrixType::kS32) return fail(in, "is not supported");
  const MatrixForm* form = eight_columns(spec);
  if (form == nullptr) return fail(in, "is not supported");
  return emit_wgmma(in, spec, *form);
}

bool FunctionLowering::wgmma_flags(const Instruction& in, MatrixType type, uint8_t& mode) {
  const bool in_registers = (mode & kWgmmaRegisterA) != 0;
  const size_t scales = is_float_type(type) ? 2 : 0;
  const size_t layouts = may_transpose(type) ? (in_registers ? 1 : 2) : 0;
  const size_t all = 4 + scales + layouts;
  if (!expect_operands(in, all, all)) return false;
  bool negated = false;
  for (size_t i = 0; i < scales; ++i)
    if (!scale_of(in.operands[4 + i], negated)) return fail(in, "has scales other than 1 and -1");
  if (negated) mode |= kWgmmaNegated;
  for (size_t i = 0; i < layouts; ++i) {
    const auto value = literal(in.operands[4 + scales + i]);
    if (!value || *value > 1) return fail(in, "has layouts other than 0 and 1");
    const bool of_b = i + 1 == layouts;
    if (*value == 1) mode |= of_b ? kWgmmaTransposedB : kWgmmaTransposedA;
  }
  return true;
}

bool FunctionLowering::emit_wgmma(const Instruction& in, const MatrixSpec& spec,
                                  const MatrixForm& form) {
  if (!expect_operands(in, 4, 8)) return false;
  uint8_t mode = in.operands[1].kind == Operand::Kind::kVector ? kWgmmaRegisterA : 0;
  if (!wgmma_flags(in, spec.a, mode)) return false;
  const uint32_t count = spec.columns / 8 * form.d.registers;
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  if (!fragment_registers(in, in.operands[0], count, 32, true, false)) return false;
  Ref a;
  if ((mode & kWgmmaRegisterA) != 0) {
    if (!fragment_registers(in, in.operands[1], form.a.registers, 32, false, false)) return false;
  } else {
    a = source(in.operands[1], 64, false);
    if (!a.used()) return fail(in, "has operands of the wrong kind or width");
  }
  for (uint32_t i = 0; i < count; ++i) out_.lists.push_back(Ref(out_.lists[first + i]));
  const Ref b = source(in.operands[2], 64, false), adds = predicate(in.operands[3].name);
  if (!b.used() || !adds.used()) return fail(in, "has operands of the wrong kind or width");
  isolate();
  Insn& insn = emit_handler(in, wgmma_handler);
  insn.list = {first, static_cast<uint16_t>(count),
               static_cast<uint16_t>(out_.lists.size() - first - count)};
  insn.a = a;
  insn.b = b;
  insn.c = adds;
  insn.c_negated = in.operands[3].negated;
  insn.mode = mode;
  insn.imm = std::bit_cast<int64_t>(&form);
  insn.latency = Latency::kTensor;
  MatrixSpec part = spec;
  part.rows = 16;
  block().pipes.tensor += matrix_cost_eighths(part);
  return true;
}

}  // namespace gacer::simdevice
