// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/matrix_forms.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace gacer::simdevice {
namespace {

constexpr uint32_t kLaneCount = 32;

bool is_half_like(MatrixType t) {
  return t == MatrixType::kF16 || t == MatrixType::kBf16;
}
bool is_fp8(MatrixType t) {
  return t == MatrixType::kE4m3 || t == MatrixType::kE5m2;
}
bool is_byte(MatrixType t) {
  return t == MatrixType::kS8 || t == MatrixType::kU8;
}
bool is_nibble(MatrixType t) {
  return t == MatrixType::kS4 || t == MatrixType::kU4;
}

struct Shape {
  uint32_t rows, columns, depth;
  bool operator==(const Shape&) const = default;
};

template <size_t N>
bool one_of(const Shape& shape, const std::array<Shape, N>& known) {
  return std::find(known.begin(), known.end(), shape) != known.end();
}

constexpr std::array<Shape, 3> kWmmaShapes = {{{16, 16, 16}, {8, 32, 16}, {32, 8, 16}}};

bool wmma_shape(const Shape& s, MatrixType t) {
  if (t == MatrixType::kF64) return s == Shape{8, 8, 4};
  if (t == MatrixType::kTf32) return s == Shape{16, 16, 8};
  if (is_nibble(t)) return s == Shape{8, 8, 32};
  if (t == MatrixType::kB1) return s == Shape{8, 8, 128};
  return (is_half_like(t) || is_byte(t)) && one_of(s, kWmmaShapes);
}

bool mma_shape(const Shape& s, MatrixType t) {
  if (s.columns != 8) return false;
  if (t == MatrixType::kF64)
    return s == Shape{8, 8, 4} || (s.rows == 16 && (s.depth == 4 || s.depth == 8 || s.depth == 16));
  if (s.rows == 8)
    return (is_byte(t) && s.depth == 16) || (is_nibble(t) && s.depth == 32) ||
           (t == MatrixType::kB1 && s.depth == 128);
  if (s.rows != 16) return false;
  if (t == MatrixType::kTf32) return s.depth == 4 || s.depth == 8;
  if (is_half_like(t)) return s.depth == 8 || s.depth == 16;
  if (is_byte(t) || is_fp8(t)) return s.depth == 16 || s.depth == 32;
  if (is_nibble(t)) return s.depth == 32 || s.depth == 64;
  return t == MatrixType::kB1 && (s.depth == 128 || s.depth == 256);
}

// m16n8k32 of bytes and m16n8k64 of nibbles are left out: where their indices lie is given by
// figures only.
bool sparse_shape(const Shape& s, MatrixType t) {
  if (s.rows != 16 || s.columns != 8) return false;
  if (is_half_like(t)) return s.depth == 16 || s.depth == 32;
  if (t == MatrixType::kTf32) return s.depth == 8 || s.depth == 16;
  if (is_byte(t) || is_fp8(t)) return s.depth == 64;
  return is_nibble(t) && s.depth == 128;
}

bool types_fit(const MatrixSpec& s) {
  const bool mixed = (is_byte(s.a) && is_byte(s.b)) || (is_nibble(s.a) && is_nibble(s.b)) ||
                     (is_fp8(s.a) && is_fp8(s.b));
  if (s.a != s.b && (!mixed || s.wmma)) return false;
  if (s.a == MatrixType::kF64) return s.c == MatrixType::kF64 && s.d == MatrixType::kF64;
  if (is_byte(s.a) || is_nibble(s.a) || s.a == MatrixType::kB1)
    return s.c == MatrixType::kS32 && s.d == MatrixType::kS32;
  const auto sum = [&](MatrixType t) {
    return t == MatrixType::kF32 ||
           (t == MatrixType::kF16 && (s.a == MatrixType::kF16 || is_fp8(s.a)));
  };
  return sum(s.c) && sum(s.d) && (s.c == s.d || s.wmma || s.quads);
}

bool exists(const MatrixSpec& s) {
  const Shape shape{s.rows, s.columns, s.depth};
  if (!types_fit(s)) return false;
  if (s.product != MatrixProduct::kMultiply && s.a != MatrixType::kB1) return false;
  if (s.product == MatrixProduct::kMultiply && s.a == MatrixType::kB1) return false;
  if (s.quads) return shape == Shape{8, 8, 4} && s.a == MatrixType::kF16;
  if (s.wmma) return wmma_shape(shape, s.a);
  return s.sparse ? sparse_shape(shape, s.a) : mma_shape(shape, s.a);
}

// Depth in elements of MatrixType: kB1 counts words.
uint32_t depth_of(MatrixType type, uint32_t depth) {
  return type == MatrixType::kB1 ? depth / 32 : depth;
}

using Places = std::vector<uint16_t>;

Places places_a(uint32_t rows, uint32_t depth, uint32_t per, uint32_t registers) {
  const uint32_t tall = rows / 8, distinct = rows * depth / (kLaneCount * per);
  Places out;
  for (uint32_t i = 0; i < registers; ++i)
    for (uint32_t lane = 0; lane < kLaneCount; ++lane)
      for (uint32_t j = 0; j < per; ++j) {
        const uint32_t r = i % distinct, row = lane / 4 + 8 * (r % tall);
        const uint32_t k = 4 * per * (r / tall) + per * (lane % 4) + j;
        out.push_back(static_cast<uint16_t>(row * depth + k));
      }
  return out;
}

Places places_b(uint32_t depth, uint32_t columns, uint32_t per, uint32_t registers) {
  const uint32_t deep = depth / (4 * per), distinct = depth * columns / (kLaneCount * per);
  Places out;
  for (uint32_t i = 0; i < registers; ++i)
    for (uint32_t lane = 0; lane < kLaneCount; ++lane)
      for (uint32_t j = 0; j < per; ++j) {
        const uint32_t r = i % distinct, column = lane / 4 + 8 * (r / deep);
        const uint32_t k = 4 * per * (r % deep) + per * (lane % 4) + j;
        out.push_back(static_cast<uint16_t>(k * columns + column));
      }
  return out;
}

Places places_c(uint32_t rows, uint32_t columns, uint32_t per) {
  const uint32_t tall = rows / 8, registers = rows * columns / (kLaneCount * per);
  Places out;
  for (uint32_t r = 0; r < registers; ++r)
    for (uint32_t lane = 0; lane < kLaneCount; ++lane)
      for (uint32_t j = 0; j < per; ++j) {
        const uint32_t i = r * per + j, row = lane / 4 + 8 * (i / 2 % tall);
        const uint32_t column = lane % 4 * 2 + i % 2 + 8 * (i / 2 / tall);
        out.push_back(static_cast<uint16_t>(row * columns + column));
      }
  return out;
}

// ---- m8n8k4 of halves: lanes 4q..4q+3 and 16+4q..16+4q+3 compute product q.

constexpr uint32_t kQuadA = 8 * 4, kQuadB = 4 * 8, kQuadC = 8 * 8;

Places quad_places_a(bool is_column) {
  Places out;
  for (uint32_t r = 0; r < 2; ++r)
    for (uint32_t lane = 0; lane < kLaneCount; ++lane)
      for (uint32_t j = 0; j < 2; ++j) {
        const uint32_t i = 2 * r + j, upper = lane / 16 * 4, quad = lane % 16 / 4;
        const uint32_t row = (is_column ? i : lane % 4) + upper, k = is_column ? lane % 4 : i;
        out.push_back(static_cast<uint16_t>(quad * kQuadA + row * 4 + k));
      }
  return out;
}

Places quad_places_b(bool is_row) {
  Places out;
  for (uint32_t r = 0; r < 2; ++r)
    for (uint32_t lane = 0; lane < kLaneCount; ++lane)
      for (uint32_t j = 0; j < 2; ++j) {
        const uint32_t i = 2 * r + j, upper = lane / 16 * 4, quad = lane % 16 / 4;
        const uint32_t k = is_row ? lane % 4 : i, column = (is_row ? i : lane % 4) + upper;
        out.push_back(static_cast<uint16_t>(quad * kQuadB + k * 8 + column));
      }
  return out;
}

Places quad_places_c(MatrixType type) {
  const uint32_t per = elements_per_register(type);
  Places out;
  for (uint32_t r = 0; r < 8 / per; ++r)
    for (uint32_t lane = 0; lane < kLaneCount; ++lane)
      for (uint32_t j = 0; j < per; ++j) {
        const uint32_t i = r * per + j, upper = lane / 16 * 4, quad = lane % 16 / 4;
        uint32_t row = lane % 4, column = i;
        if (type == MatrixType::kF32) {
          row = (lane & 1) + (i & 2);
          column = (i & 4) + (lane & 2) + (i & 1);
        }
        out.push_back(static_cast<uint16_t>(quad * kQuadC + (row + upper) * 8 + column));
      }
  return out;
}

// ---- forms

struct OwnedForm {
  MatrixForm form;
  Places a, b, c, d;
};

// `elements`: of the operand's tiles.
void set_fragment(Fragment& fragment, MatrixType type, uint32_t elements, const Places& places) {
  fragment.type = type;
  fragment.registers =
      static_cast<uint8_t>(places.size() / (kLaneCount * elements_per_register(type)));
  fragment.distinct = static_cast<uint8_t>(elements / (kLaneCount * elements_per_register(type)));
  fragment.place = places.data();
}

// Registers of A or B with `elements` elements: wmma gives halves eight, whatever the shape.
uint32_t factor_registers(const MatrixSpec& s, MatrixType type, uint32_t elements) {
  if (s.wmma && type == MatrixType::kF16) return 8;
  return elements / (kLaneCount * elements_per_register(type));
}

void lay_out(const MatrixSpec& s, OwnedForm& out) {
  const uint32_t depth = depth_of(s.a, s.depth), given = s.sparse ? depth / 2 : depth;
  if (s.quads) {
    out.a = quad_places_a(s.a_is_column);
    out.b = quad_places_b(s.b_is_row);
    out.c = quad_places_c(s.c);
    out.d = quad_places_c(s.d);
    return;
  }
  out.a =
      places_a(s.rows, given, elements_per_register(s.a), factor_registers(s, s.a, s.rows * given));
  out.b = places_b(depth, s.columns, elements_per_register(s.b),
                   factor_registers(s, s.b, depth * s.columns));
  out.c = places_c(s.rows, s.columns, elements_per_register(s.c));
  out.d = places_c(s.rows, s.columns, elements_per_register(s.d));
}

std::unique_ptr<OwnedForm> make_form(const MatrixSpec& s) {
  auto out = std::make_unique<OwnedForm>();
  lay_out(s, *out);
  MatrixForm& form = out->form;
  form.rows = s.rows;
  form.columns = s.columns;
  form.depth = depth_of(s.a, s.depth);
  form.batches = s.quads ? 4 : 1;
  const uint32_t given = (s.sparse ? form.depth / 2 : form.depth) * form.batches;
  const uint32_t sums = s.rows * s.columns * form.batches;
  set_fragment(form.a, s.a, s.rows * given, out->a);
  set_fragment(form.b, s.b, form.depth * form.batches * s.columns, out->b);
  set_fragment(form.c, s.c, sums, out->c);
  set_fragment(form.d, s.d, sums, out->d);
  form.product = s.product;
  form.finite = s.finite;
  form.rounding = s.rounding;
  if (s.sparse) {
    form.chunk = s.a == MatrixType::kTf32 ? 2 : is_nibble(s.a) ? 8 : 4;
    form.unit = is_nibble(s.a) ? 2 : 1;
    form.halves = is_half_like(s.a) || s.a == MatrixType::kTf32;
  }
  return out;
}

struct OwnedTile {
  MatrixTile tile;
  Places places;
};

std::unique_ptr<OwnedTile> make_tile(MatrixOperand operand, const Shape& s, MatrixType type) {
  auto out = std::make_unique<OwnedTile>();
  MatrixTile& tile = out->tile;
  const bool words = is_nibble(type) || type == MatrixType::kB1;
  const uint32_t bits = matrix_bits(type);
  tile.packed = words ? 32 / bits : 1;
  tile.element_bytes = words ? 4 : bits / 8;
  tile.per_register = static_cast<uint8_t>(words ? 1 : elements_per_register(type));
  const uint32_t per = tile.per_register, depth = s.depth / tile.packed;
  const auto registers = [&](uint32_t elements) {
    return type == MatrixType::kF16 ? 8 : elements / (kLaneCount * per);
  };
  tile.rows = operand == MatrixOperand::kB ? depth : s.rows;
  tile.columns = operand == MatrixOperand::kA ? depth : s.columns;
  if (operand == MatrixOperand::kA)
    out->places = places_a(s.rows, depth, per, registers(s.rows * depth));
  if (operand == MatrixOperand::kB)
    out->places = places_b(depth, s.columns, per, registers(depth * s.columns));
  if (operand == MatrixOperand::kC) out->places = places_c(s.rows, s.columns, per);
  tile.registers = static_cast<uint8_t>(out->places.size() / (kLaneCount * per));
  tile.place = out->places.data();
  return out;
}

// Which shapes have C matrices of this type.
bool sum_shape(const Shape& s, MatrixType type) {
  if (type == MatrixType::kF64) return s == Shape{8, 8, 4};
  if (type == MatrixType::kF16) return one_of(s, kWmmaShapes);
  if (type == MatrixType::kF32) return one_of(s, kWmmaShapes) || s == Shape{16, 16, 8};
  return type == MatrixType::kS32 &&
         (one_of(s, kWmmaShapes) || s == Shape{8, 8, 32} || s == Shape{8, 8, 128});
}

}  // namespace

uint32_t matrix_bits(MatrixType type) {
  switch (type) {
    case MatrixType::kF64:
      return 64;
    case MatrixType::kB1:
      return 1;
    default:
      return 32 / elements_per_register(type);
  }
}

const MatrixForm* find_matrix_form(const MatrixSpec& spec) {
  if (!exists(spec)) return nullptr;
  static std::mutex mutex;
  static auto& forms = *new std::map<MatrixSpec, std::unique_ptr<OwnedForm>>;
  const std::lock_guard lock(mutex);
  auto& slot = forms[spec];
  if (slot == nullptr) slot = make_form(spec);
  return &slot->form;
}

const MatrixTile* find_wmma_tile(MatrixOperand operand, uint32_t rows, uint32_t columns,
                                 uint32_t depth, MatrixType type) {
  const Shape shape{rows, columns, depth};
  if (operand == MatrixOperand::kC ? !sum_shape(shape, type) : !wmma_shape(shape, type))
    return nullptr;
  static std::mutex mutex;
  static auto& tiles =
      *new std::map<std::tuple<MatrixOperand, uint32_t, uint32_t, uint32_t, MatrixType>,
                    std::unique_ptr<OwnedTile>>;
  const std::lock_guard lock(mutex);
  auto& slot = tiles[{operand, rows, columns, depth, type}];
  if (slot == nullptr) slot = make_tile(operand, shape, type);
  return &slot->tile;
}

uint32_t matrix_cost_eighths(const MatrixSpec& s) {
  const uint64_t fma = uint64_t{s.rows} * s.columns * s.depth * (s.quads ? 4 : 1);
  uint64_t sixteenths = 16;  // of the rate of halves
  if (s.a == MatrixType::kTf32) sixteenths = 8;
  if (s.a == MatrixType::kF64) sixteenths = 1;
  if (is_byte(s.a) || is_fp8(s.a)) sixteenths = 32;
  if (is_nibble(s.a)) sixteenths = 64;
  if (s.a == MatrixType::kB1) sixteenths = 256;
  if (s.sparse) sixteenths *= 2;
  return static_cast<uint32_t>(std::max<uint64_t>(1, fma * 16 * 8 / (2048 * sixteenths)));
}

}  // namespace gacer::simdevice
