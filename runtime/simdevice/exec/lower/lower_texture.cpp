// SPDX-License-Identifier: Apache-2.0
// tex, tld4, txq, suld, sust, sured, suq, istypep, all by handles in registers. Variables of the
// opaque types and separate samplers are refused.
#include <algorithm>
#include <bit>

#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/texture/surface_ops.h"
#include "runtime/simdevice/exec/texture/texel.h"
#include "runtime/simdevice/exec/texture/texture_ops.h"

namespace gacer::simdevice {
namespace {

template <typename Value>
struct Word {
  std::string_view text;
  Value value;
};

template <typename Value, size_t N>
std::optional<Value> find_word(const Word<Value> (&words)[N], std::string_view text) {
  for (const auto& word : words)
    if (word.text == text) return word.value;
  return std::nullopt;
}

struct ShapeRow {
  TextureShape shape;
  uint8_t coordinates;  // without the layer
  bool layer;
  uint8_t written;  // how many the ISA has in the vector, with padding
};
constexpr Word<ShapeRow> kTextureShapes[] = {
    {"1d", {TextureShape::k1d, 1, false, 1}},
    {"2d", {TextureShape::k2d, 2, false, 2}},
    {"3d", {TextureShape::k3d, 3, false, 4}},
    {"a1d", {TextureShape::kArray1d, 1, true, 2}},
    {"a2d", {TextureShape::kArray2d, 2, true, 4}},
    {"cube", {TextureShape::kCube, 3, false, 4}},
    {"acube", {TextureShape::kCubeArray, 3, true, 4}},
};

constexpr Word<TextureQuery> kQueries[] = {
    {"width", TextureQuery::kWidth},
    {"height", TextureQuery::kHeight},
    {"depth", TextureQuery::kDepth},
    {"num_mipmap_levels", TextureQuery::kLevels},
    {"num_samples", TextureQuery::kSamples},
    {"array_size", TextureQuery::kArraySize},
    {"channel_data_type", TextureQuery::kDataType},
    {"channel_order", TextureQuery::kOrder},
    {"normalized_coords", TextureQuery::kNormalised},
};

struct SurfaceRow {
  SurfaceShape shape;
  uint8_t coordinates;  // with the layer
  uint8_t written;
};
constexpr Word<SurfaceRow> kSurfaceShapes[] = {
    {"1d", {SurfaceShape::k1d, 1, 1}},       {"2d", {SurfaceShape::k2d, 2, 2}},
    {"3d", {SurfaceShape::k3d, 3, 4}},       {"a1d", {SurfaceShape::kArray1d, 2, 2}},
    {"a2d", {SurfaceShape::kArray2d, 3, 4}},
};
constexpr Word<SurfaceBounds> kBounds[] = {{"trap", SurfaceBounds::kTrap},
                                           {"clamp", SurfaceBounds::kClamp},
                                           {"zero", SurfaceBounds::kZero}};
constexpr Word<SurfaceReduce> kReductions[] = {{"add", SurfaceReduce::kAdd},
                                               {"min", SurfaceReduce::kMin},
                                               {"max", SurfaceReduce::kMax},
                                               {"and", SurfaceReduce::kAnd},
                                               {"or", SurfaceReduce::kOr}};
constexpr Word<StoreAs> kStoreTypes[] = {{"b32", StoreAs::kFormat},
                                         {"u32", StoreAs::kUnsigned},
                                         {"s32", StoreAs::kSigned},
                                         {"f32", StoreAs::kFloat}};
constexpr std::string_view kSurfaceHints[] = {"ca", "cg", "cs", "cv", "wb", "wt"};

bool is_word_type(std::string_view word) {
  return word == "u32" || word == "s32" || word == "f32";
}

}  // namespace

// "[handle, {coordinates}]" or "[handle]": the handle's register.
Ref FunctionLowering::texture_handle(const Operand& operand, size_t elements) {
  if (operand.kind != Operand::Kind::kAddress || operand.offset || operand.name.empty() ||
      operand.elements.size() != elements)
    return {};
  const Symbol* symbol = find(operand.name);
  if (symbol == nullptr || symbol->kind != SymbolKind::kRegister ||
      out_.reg_bits[symbol->index] != 64)
    return {};
  return Ref::make(Bank::kFrame, symbol->index);
}

// Appends the first `used` of the elements of a vector (or the only one) that has `written`.
bool FunctionLowering::vector_registers(const Instruction& in, const Operand& operand, size_t used,
                                        size_t written, uint32_t bits, bool is_float) {
  const std::vector<Operand> elements =
      operand.kind == Operand::Kind::kVector ? operand.elements : std::vector<Operand>{operand};
  if (elements.size() != written && elements.size() != used)
    return fail(in, "has a wrong number of coordinates");
  for (size_t i = 0; i < used; ++i) {
    const Ref ref = source(elements[i], bits, is_float);
    if (!ref.used()) return fail(in, "has operands of the wrong kind or width");
    out_.lists.push_back(ref);
  }
  return true;
}

// tex{.base,.level,.grad}.shape.v4.dtype.ctype d{|p}, [a, c]{, level or gradients}{, offsets}
// tld4.component.shape.v4.dtype.f32 d{|p}, [a, c]{, offsets}
bool FunctionLowering::lower_texture(const Instruction& in) {
  TextureOp op;
  op.gather = in.opcode == "tld4";
  const auto& words = in.modifiers;
  size_t at = 0;
  if (!op.gather && !words.empty()) {
    op.choice = words[0] == "level"  ? LevelChoice::kExplicit
                : words[0] == "grad" ? LevelChoice::kGradient
                                     : LevelChoice::kBase;
    at = words[0] == "level" || words[0] == "grad" || words[0] == "base";
  } else if (op.gather && !words.empty()) {
    const size_t component = std::string_view("rgba").find(words[0]);
    if (words[0].size() != 1 || component == std::string_view::npos)
      return fail(in, "is not supported");
    op.component = static_cast<uint8_t>(component);
    at = 1;
  }
  if (words.size() != at + 4) return fail(in, "is not supported");
  const auto shape = find_word(kTextureShapes, words[at]);
  op.halves = words[at + 1] == "v2" && words[at + 2] == "f16x2";
  const bool whole = words[at + 1] == "v4" && is_word_type(words[at + 2]);
  op.integer = words[at + 3] == "s32";
  if (!shape || (!op.halves && !whole) || (!op.integer && words[at + 3] != "f32"))
    return fail(in, "is not supported");
  op.shape = shape->shape;
  op.coordinates = shape->coordinates;
  const bool is_cube = op.shape == TextureShape::kCube || op.shape == TextureShape::kCubeArray;
  if (op.integer && (is_cube || op.gather || op.choice == LevelChoice::kGradient))
    return fail(in, "is not supported");
  if (op.gather && (op.coordinates == 1 || op.shape == TextureShape::k3d))
    return fail(in, "is not supported");
  return emit_texture(in, op, shape->layer, shape->written);
}

bool FunctionLowering::emit_texture(const Instruction& in, TextureOp op, bool layer,
                                    size_t written) {
  const size_t levels = op.choice == LevelChoice::kBase       ? 0
                        : op.choice == LevelChoice::kExplicit ? 1
                                                              : 2;
  if (!expect_operands(in, 2 + levels, 3 + levels)) return false;
  const Operand& result = in.operands[0];
  const Ref handle = texture_handle(in.operands[1], 1);
  if (!handle.used()) return fail(in, "names its texture other than by a handle in a register");
  const size_t results = op.halves ? 2 : 4;
  if (result.kind != Operand::Kind::kVector || result.elements.size() != results)
    return fail(in, "has a wrong number of registers");
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  for (const Operand& e : result.elements) {
    const Ref ref = destination(e, 32);
    if (!ref.used()) return fail(in, "has operands of the wrong kind or width");
    out_.lists.push_back(ref);
  }
  const size_t used = size_t{layer} + op.coordinates;
  if (!vector_registers(in, in.operands[1].elements[0], used, written, 32, !op.integer))
    return false;
  const size_t padded = op.coordinates == 3 ? 4 : op.coordinates;
  for (size_t i = 0; i < levels; ++i)
    if (!vector_registers(in, in.operands[2 + i], levels == 1 ? 1 : op.coordinates,
                          levels == 1 ? 1 : padded, 32, !op.integer))
      return false;
  if (in.operands.size() > 2 + levels) {
    const Operand& offsets = in.operands[2 + levels];
    if (offsets.kind != Operand::Kind::kVector) return fail(in, "is not supported");
    op.offsets = true;
    if (!vector_registers(in, offsets, op.coordinates, padded, 32, false)) return false;
  }
  const size_t end = out_.lists.size();
  Insn& insn = emit_handler(in, texture_handler);
  insn.list = {first, static_cast<uint16_t>(results), static_cast<uint16_t>(end - first - results)};
  insn.a = handle;
  insn.imm = std::bit_cast<int64_t>(op);
  if (!result.second.empty() && result.second != "_") {
    insn.dst2 = predicate(result.second);
    if (!insn.dst2.used()) return fail(in, "has operands of the wrong kind or width");
  }
  insn.latency = Latency::kGlobal;
  PipeCounts& pipes = block().pipes;
  ++pipes.memory;
  ++pipes.global_loads;
  return true;
}

// txq{.level}.query.b32 d, [a]{, level}    suq.query.b32 d, [a]
bool FunctionLowering::lower_texture_query(const Instruction& in) {
  const bool of_surface = in.opcode == "suq";
  const auto& words = in.modifiers;
  const bool has_level = !of_surface && !words.empty() && words[0] == "level";
  if (words.size() != 2u + has_level || words.back() != "b32") return fail(in, "is not supported");
  const auto query = find_word(kQueries, words[has_level]);
  if (!query ||
      (of_surface && (*query == TextureQuery::kLevels || *query == TextureQuery::kNormalised ||
                      *query == TextureQuery::kSamples)))
    return fail(in, "is not supported");
  if (!expect_operands(in, 2u + has_level, 2u + has_level)) return false;
  const Ref handle = texture_handle(in.operands[1], 0), d = destination(in.operands[0], 32);
  const Ref level = has_level ? source(in.operands[2], 32, false) : Ref{};
  if (!handle.used()) return fail(in, "names its texture other than by a handle in a register");
  if (!d.used() || (has_level && !level.used()))
    return fail(in, "has operands of the wrong kind or width");
  Insn& insn = emit_handler(in, texture_query_handler);
  insn.dst = d;
  insn.a = handle;
  insn.b = level;
  insn.mode = static_cast<uint8_t>(*query);
  insn.imm = of_surface | has_level << 1;
  ++block().pipes.memory;
  return true;
}

// istypep.type p, a
bool FunctionLowering::lower_texture_type(const Instruction& in) {
  if (!expect_operands(in, 2, 2) || in.modifiers.size() != 1) return fail(in, "is not supported");
  constexpr Word<uint8_t> kOpaque[] = {{"texref", 0}, {"surfref", 1}, {"samplerref", 2}};
  const auto type = find_word(kOpaque, in.modifiers[0]);
  const Ref p = predicate(in.operands[0].name), a = source(in.operands[1], 64, false);
  if (!type || !p.used() || !a.used()) return fail(in, "is not supported");
  Insn& insn = emit_handler(in, texture_type_handler);
  insn.dst = p;
  insn.a = a;
  insn.mode = *type;
  return true;
}

// suld.b.shape{.hint}{.vec}.type.bounds d, [a, c]
// sust.{b,p}.shape{.hint}{.vec}.type.bounds [a, c], b
// sured.{b,p}.op.shape.type.bounds [a, c], b
bool FunctionLowering::lower_surface(const Instruction& in) {
  SurfaceOp op;
  std::optional<SurfaceRow> shape;
  std::optional<SurfaceBounds> bounds;
  std::optional<SurfaceReduce> reduce;
  std::string_view type;
  for (size_t i = 0; i < in.modifiers.size(); ++i) {
    const std::string_view word = in.modifiers[i];
    if (i == 0) {
      if (word != "b" && word != "p") return fail(in, "is not supported");
      op.formatted = word == "p";
    } else if (const auto found = find_word(kSurfaceShapes, word)) {
      shape = found;
    } else if (const auto mode = find_word(kBounds, word)) {
      bounds = mode;
    } else if (const auto what = find_word(kReductions, word)) {
      reduce = what;
    } else if (word == "v2" || word == "v4") {
      op.parts = static_cast<uint8_t>(word[1] - '0');
    } else if (const auto known = ptx::type_from(word)) {
      type = word;
      op.part_bytes = static_cast<uint8_t>(ptx::type_bytes(*known));
      op.is_signed = ptx::is_signed(*known);
    } else if (std::find(std::begin(kSurfaceHints), std::end(kSurfaceHints), word) ==
               std::end(kSurfaceHints)) {
      return fail(in, "is not supported");
    }
  }
  if (!shape || !bounds || type.empty() || (in.opcode == "sured") != reduce.has_value())
    return fail(in, "is not supported");
  op.shape = shape->shape;
  op.bounds = *bounds;
  op.reduce = reduce.value_or(SurfaceReduce::kAdd);
  return check_surface(in, op, type) && emit_surface(in, op, shape->coordinates, shape->written);
}

bool FunctionLowering::check_surface(const Instruction& in, SurfaceOp& op, std::string_view type) {
  if (in.opcode == "suld" && op.formatted) return fail(in, "is not supported");
  if (in.opcode == "sured") {
    const bool wide = op.part_bytes == 8 || op.part_bytes == 4;
    if (op.parts != 1 || !wide || type[0] == 'f') return fail(in, "is not supported");
  } else if (op.formatted) {
    const auto as = find_word(kStoreTypes, type);
    if (!as) return fail(in, "is not supported");
    op.store_as = static_cast<uint8_t>(*as);
  } else if (type[0] != 'b' || op.part_bytes * op.parts > 16) {
    return fail(in, "is not supported");
  }
  return true;
}

bool FunctionLowering::emit_surface(const Instruction& in, const SurfaceOp& op, size_t coordinates,
                                    size_t written) {
  const bool is_load = in.opcode == "suld";
  if (!expect_operands(in, 2, 2)) return false;
  const Operand& data = in.operands[is_load ? 0 : 1];
  const Operand& where = in.operands[is_load ? 1 : 0];
  const Ref handle = texture_handle(where, 1);
  if (!handle.used()) return fail(in, "names its surface other than by a handle in a register");
  const uint32_t bits = std::max<uint32_t>(16, op.part_bytes * 8u);
  const uint32_t first = static_cast<uint32_t>(out_.lists.size());
  if (is_load && !fragment_registers(in, data, op.parts, bits, true, false)) return false;
  if (!vector_registers(in, where.elements[0], coordinates, written, 32, false)) return false;
  if (!is_load && !fragment_registers(in, data, op.parts, bits, false, op.formatted)) return false;
  const size_t total = out_.lists.size() - first, results = is_load ? op.parts : 0;
  Insn& insn = emit_handler(in, is_load                ? surface_load_handler
                                : in.opcode == "sured" ? surface_reduce_handler
                                                       : surface_store_handler);
  insn.list = {first, static_cast<uint16_t>(results), static_cast<uint16_t>(total - results)};
  insn.a = handle;
  insn.imm = std::bit_cast<int64_t>(op);
  if (is_load) insn.latency = Latency::kGlobal;
  PipeCounts& pipes = block().pipes;
  ++pipes.memory;
  pipes.global_loads += is_load;
  pipes.atomics += in.opcode == "sured";
  return true;
}

}  // namespace gacer::simdevice
