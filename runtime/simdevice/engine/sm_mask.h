// SPDX-License-Identifier: Apache-2.0
// Which SMs the kernels of a stream may run on (green contexts, execution affinity).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace gacer::simdevice {

// No bit set: all SMs.
struct SmMask {
  std::array<uint64_t, 4> words{};  // of at most 256 SMs

  bool unrestricted() const { return words == std::array<uint64_t, 4>{}; }
  bool allows(uint32_t sm) const {
    return unrestricted() || (words[sm / 64 % 4] >> (sm % 64) & 1) != 0;
  }
  void add(uint32_t sm) { words[sm / 64 % 4] |= uint64_t{1} << (sm % 64); }
  uint32_t count() const {
    uint32_t bits = 0;
    for (const uint64_t word : words) bits += static_cast<uint32_t>(std::popcount(word));
    return bits;
  }
};

}  // namespace gacer::simdevice
