// SPDX-License-Identifier: Apache-2.0
// Fat binaries byte by byte, for what nvcc does not write.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gacer::simdriver {

struct FatbinEntry {
  uint16_t kind = 1;  // 1 PTX, 2 machine code
  uint32_t sm = 80;
  std::string payload;
  uint64_t flags = 0x11;
  uint64_t content_bytes = 0;
};

inline void append_bytes(std::vector<uint8_t>& out, const void* from, size_t bytes) {
  const auto* first = static_cast<const uint8_t*>(from);
  out.insert(out.end(), first, first + bytes);
}

template <typename T>
void append(std::vector<uint8_t>& out, T value) {
  append_bytes(out, &value, sizeof value);
}

inline std::vector<uint8_t> build_entry(const FatbinEntry& entry) {
  std::vector<uint8_t> out;
  const uint64_t padded = (entry.payload.size() + 7) / 8 * 8;
  append<uint16_t>(out, entry.kind);
  append<uint16_t>(out, 0x101);
  append<uint32_t>(out, 64);
  append<uint64_t>(out, padded);
  append<uint32_t>(out, entry.content_bytes == 0 ? 0 : static_cast<uint32_t>(entry.payload.size()));
  append<uint32_t>(out, 0);
  append<uint32_t>(out, 0x00090000);  // minor, major
  append<uint32_t>(out, entry.sm);
  append<uint64_t>(out, 0);  // name
  append<uint64_t>(out, entry.flags);
  append<uint64_t>(out, 0);
  append<uint64_t>(out, entry.content_bytes);
  append_bytes(out, entry.payload.data(), entry.payload.size());
  out.resize(64 + padded);
  return out;
}

inline std::vector<uint8_t> build_fatbin(const std::vector<FatbinEntry>& entries) {
  std::vector<uint8_t> body;
  for (const FatbinEntry& entry : entries) {
    const auto bytes = build_entry(entry);
    append_bytes(body, bytes.data(), bytes.size());
  }
  std::vector<uint8_t> out;
  append<uint32_t>(out, 0xBA55ED50);
  append<uint16_t>(out, 1);
  append<uint16_t>(out, 16);
  append<uint64_t>(out, body.size());
  append_bytes(out, body.data(), body.size());
  return out;
}

}  // namespace gacer::simdriver
