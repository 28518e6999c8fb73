// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/lower/matrix_words.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gacer::simdevice {
namespace {

constexpr std::pair<std::string_view, MatrixType> kTypes[] = {
    {"f16", MatrixType::kF16},   {"bf16", MatrixType::kBf16}, {"tf32", MatrixType::kTf32},
    {"f32", MatrixType::kF32},   {"f64", MatrixType::kF64},   {"e4m3", MatrixType::kE4m3},
    {"e5m2", MatrixType::kE5m2}, {"s8", MatrixType::kS8},     {"u8", MatrixType::kU8},
    {"s4", MatrixType::kS4},     {"u4", MatrixType::kU4},     {"b1", MatrixType::kB1},
    {"s32", MatrixType::kS32},
};

// As RoundTo of lane_math.h counts.
constexpr std::string_view kRoundings[] = {"rn", "rz", "rm", "rp"};

constexpr std::string_view kPlain[] = {"sync", "aligned", "mma", "mma_async", "load", "store",
                                       "popc", "a",       "b",   "c",         "d"};

// "m16n8k16"
bool read_shape(std::string_view text, MatrixSpec& spec) {
  const char* at = text.data();
  const char* end = at + text.size();
  for (auto [letter, value] :
       {std::pair{'m', &spec.rows}, std::pair{'n', &spec.columns}, std::pair{'k', &spec.depth}}) {
    if (at == end || *at != letter) return false;
    const auto [stop, ec] = std::from_chars(at + 1, end, *value);
    if (ec != std::errc{}) return false;
    at = stop;
  }
  return at == end;
}

bool read_flag(std::string_view word, MatrixWords& out) {
  if (word == "row" || word == "col") return out.layouts.push_back(word), true;
  if (word == "satfinite") return out.spec.finite = true;
  if (word == "sp" || word == "sp::ordered_metadata") return out.spec.sparse = true;
  if (word == "xor") return out.spec.product = MatrixProduct::kXorPopc, true;
  if (word == "and") return out.spec.product = MatrixProduct::kAndPopc, true;
  if (word == "global") return out.is_shared = false, true;
  if (word == "shared" || word == "shared::cta") return out.is_shared = true, true;
  for (uint8_t i = 0; i < std::size(kRoundings); ++i)
    if (kRoundings[i] == word) {
      out.spec.rounding = i;
      return out.rounding = true;
    }
  return std::find(std::begin(kPlain), std::end(kPlain), word) != std::end(kPlain);
}

}  // namespace

bool read_matrix_words(const ptx::Instruction& in, MatrixWords& out) {
  bool shaped = false;
  for (const std::string& word : in.modifiers) {
    if (read_shape(word, out.spec)) {
      shaped = true;
      continue;
    }
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const auto& row) { return row.first == word; });
    if (type != std::end(kTypes)) {
      out.types.push_back(type->second);
    } else if (!read_flag(word, out)) {
      return false;
    }
  }
  return shaped;
}

}  // namespace gacer::simdevice
