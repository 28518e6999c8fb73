// SPDX-License-Identifier: Apache-2.0
// The special registers (%tid.x ...), one row each: GACER_SPECIAL(id, spelling, value of lane
// `lane`). All are kept as 64-bit slots of the special bank, 32-bit ones as 32-bit lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gacer::simdevice {

enum class Special : uint8_t {
#define GACER_SPECIAL(id, spelling, bits, value) id,
#include "runtime/simdevice/exec/specials.def"
#undef GACER_SPECIAL
  kCount
};

struct SpecialInfo {
  Special id;
  std::string_view spelling;
  uint32_t bits;
};
// nullopt: no such special register (or one that is not supported).
std::optional<SpecialInfo> special_from(std::string_view spelling);

// The shared memory that %reserved_smem_offset_* name: behind a block's own `shared` bytes.
inline constexpr uint32_t kReservedSharedBytes = 1024;
inline constexpr uint32_t reserved_begin(uint64_t shared) {
  return static_cast<uint32_t>((shared + 15) & ~uint64_t{15});
}
inline constexpr bool uses_reserved_shared(uint64_t special_used) {
  const auto bit = [](Special id) { return uint64_t{1} << static_cast<uint32_t>(id); };
  return (special_used & (bit(Special::kReservedBegin) | bit(Special::kReservedEnd) |
                          bit(Special::kReserved0) | bit(Special::kReserved1))) != 0;
}

// Set anew for each block, not only for each launch.
inline constexpr bool differs_by_block(Special id) {
  return id >= Special::kCtaidX;
}
// Clocks come last: they change while a kernel runs.
inline constexpr bool is_clock(Special id) {
  return id >= Special::kClock;
}
inline constexpr uint32_t special_offset(Special id) {
  return static_cast<uint32_t>(id) * 256;
}

}  // namespace gacer::simdevice
