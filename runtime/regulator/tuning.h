// SPDX-License-Identifier: Apache-2.0
// Knobs of the regulator: rows of tuning.def as plain fields, set by name after validation. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/regulator/regulator.h"

namespace gacer::regulator {

inline constexpr uint64_t kNsPerUs = 1'000;
inline constexpr uint64_t kNsPerMs = 1'000'000;

struct Tuning {
#define GACER_KNOB(key, value, min, max, unit, help) uint64_t key = value;
#include "runtime/regulator/tuning.def"
#undef GACER_KNOB
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

// Sets one knob. On error `tuning` is unchanged and the message names the key, the value and what
// is legal.
Status set_knob(Tuning& tuning, std::string_view key, std::string_view value);

std::vector<Regulator::Knob> describe(const Tuning& tuning);

}  // namespace gacer::regulator
