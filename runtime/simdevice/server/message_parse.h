// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace gacer::simdevice {

// Copies a message out of a packet; false when its size is not exactly that of T.
template <typename T>
bool parse(std::span<const uint8_t> bytes, T& message) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() != sizeof(T)) return false;
  std::memcpy(&message, bytes.data(), sizeof(T));
  return true;
}

inline constexpr const char* kWrongSize = "message has the wrong size";

}  // namespace gacer::simdevice
