// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/tuning.h"

#include <cerrno>
#include <charconv>
#include <span>
#include <string>

namespace gacer::regulator {
namespace {

struct Row {
  std::string_view key;
  uint64_t Tuning::*field;
  uint64_t min, max;
  std::string_view unit, help;
};

constexpr Row kRows[] = {
#define GACER_KNOB(key, value, min, max, unit, help) {#key, &Tuning::key, min, max, unit, help},
#include "runtime/regulator/tuning.def"
#undef GACER_KNOB
};

const Row* find_row(std::string_view key) {
  for (const Row& row : kRows) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

std::string range_text(const Row& row) {
  return std::to_string(row.min) + ".." + std::to_string(row.max);
}

Error unknown_key(std::string_view key) {
  std::string message = "tune: no knob '" + std::string(key) + "'; known:";
  for (const Row& row : kRows) message.append(" ").append(row.key);
  return {EINVAL, message};
}

Error bad_value(const Row& row, std::string_view value) {
  return {EINVAL, "tune: " + std::string(row.key) + "='" + std::string(value) +
                      "' is not a whole number in " + range_text(row) + " (" +
                      std::string(row.unit) + ")"};
}

}  // namespace

Status set_knob(Tuning& tuning, std::string_view key, std::string_view value) {
  const Row* row = find_row(key);
  if (row == nullptr) return unknown_key(key);
  uint64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) return bad_value(*row, value);
  if (number < row->min || number > row->max) return bad_value(*row, value);
  tuning.*(row->field) = number;
  return {};
}

std::vector<Regulator::Knob> describe(const Tuning& tuning) {
  std::vector<Regulator::Knob> knobs;
  for (const Row& row : kRows) {
    knobs.push_back({std::string(row.key), std::to_string(tuning.*(row.field)),
                     std::string(row.unit), range_text(row), std::string(row.help)});
  }
  return knobs;
}

}  // namespace gacer::regulator
