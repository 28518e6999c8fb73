// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/ast.h"

#include <algorithm>
#include <bit>

namespace gacer::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  Type type;
  uint32_t bytes;
};
constexpr TypeRow kTypes[] = {
    {"pred", Type::kPred, 0},
    {"b8", Type::kB8, 1},
    {"b16", Type::kB16, 2},
    {"b32", Type::kB32, 4},
    {"b64", Type::kB64, 8},
    {"b128", Type::kB128, 16},
    {"u8", Type::kU8, 1},
    {"u16", Type::kU16, 2},
    {"u32", Type::kU32, 4},
    {"u64", Type::kU64, 8},
    {"s8", Type::kS8, 1},
    {"s16", Type::kS16, 2},
    {"s32", Type::kS32, 4},
    {"s64", Type::kS64, 8},
    {"f16", Type::kF16, 2},
    {"f16x2", Type::kF16x2, 4},
    {"bf16", Type::kBf16, 2},
    {"bf16x2", Type::kBf16x2, 4},
    {"tf32", Type::kTf32, 4},
    {"e4m3x2", Type::kE4m3x2, 2},
    {"e5m2x2", Type::kE5m2x2, 2},
    {"f32", Type::kF32, 4},
    {"f64", Type::kF64, 8},
    {"texref", Type::kTexref, 8},
    {"samplerref", Type::kSamplerref, 8},
    {"surfref", Type::kSurfref, 8},
};

struct SpaceRow {
  std::string_view name;
  Space space;
};
constexpr SpaceRow kSpaces[] = {
    {"reg", Space::kReg},       {"global", Space::kGlobal}, {"const", Space::kConst},
    {"shared", Space::kShared}, {"local", Space::kLocal},   {"param", Space::kParam},
};

}  // namespace

std::optional<Type> type_from(std::string_view spelling) {
  for (const auto& row : kTypes)
    if (row.name == spelling) return row.type;
  return std::nullopt;
}

std::string_view type_name(Type type) {
  for (const auto& row : kTypes)
    if (row.type == type) return row.name;
  return "";
}

uint32_t type_bytes(Type type) {
  for (const auto& row : kTypes)
    if (row.type == type) return row.bytes;
  return 0;
}

bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

bool is_float(Type type) {
  return type >= Type::kF16 && type <= Type::kF64;
}

std::optional<Space> space_from(std::string_view spelling) {
  for (const auto& row : kSpaces)
    if (row.name == spelling) return row.space;
  return std::nullopt;
}

std::string_view space_name(Space space) {
  for (const auto& row : kSpaces)
    if (row.space == space) return row.name;
  return "";
}

double Immediate::as_double() const {
  if (kind == Kind::kInteger) return static_cast<double>(static_cast<int64_t>(bits));
  if (kind == Kind::kFloat64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

// Written out: the element types are incomplete inside the classes, and Clang 14 crashes on a
// comparison that is defaulted outside of one.
bool Operand::operator==(const Operand& o) const {
  return kind == o.kind && negated == o.negated && name == o.name && second == o.second &&
         offset == o.offset && subscript == o.subscript && elements == o.elements;
}
bool Initializer::operator==(const Initializer& o) const {
  return kind == o.kind && value == o.value && generic == o.generic && masked == o.masked &&
         symbol == o.symbol && offset == o.offset && elements == o.elements;
}
bool operator==(const Scope& a, const Scope& b) {
  return a.body == b.body;
}

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::optional<uint64_t> Variable::bytes() const {
  uint64_t total = uint64_t{type_bytes(type)} * vector;
  for (uint64_t dim : dims)
    if (dim == 0 || __builtin_mul_overflow(total, dim, &total)) return std::nullopt;
  return total;
}

uint32_t Variable::natural_align() const {
  return align != 0 ? align : std::max<uint32_t>(1, type_bytes(type) * vector);
}

const Directive* Function::directive(std::string_view directive_name) const {
  for (const auto& d : directives)
    if (d.name == directive_name) return &d;
  return nullptr;
}

}  // namespace gacer::ptx
