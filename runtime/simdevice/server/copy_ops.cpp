// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/copy_ops.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMostBytes = 1ULL << 46;
constexpr uint64_t kBounceBytes = 1ULL << 20;

std::optional<uint64_t> times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMostBytes) return std::nullopt;
  return product;
}

std::string no_access(const char* what, uint64_t address, uint64_t bytes) {
  char text[128];
  std::snprintf(text, sizeof text, "%s: %" PRIu64 " bytes at 0x%" PRIx64 " are not accessible",
                what, bytes, address);
  return text;
}

std::string copy_by_bounce(uint64_t dst, uint64_t src, uint64_t bytes, const ClientMemory& memory) {
  std::vector<uint8_t> bounce(std::min(bytes, kBounceBytes));
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min<uint64_t>(bytes - done, bounce.size());
    if (!memory.read(src + done, bounce.data(), part))
      return no_access("copy source", src + done, part);
    if (!memory.write(dst + done, bounce.data(), part))
      return no_access("copy destination", dst + done, part);
    done += part;
  }
  return {};
}

std::string copy_row(uint64_t dst, uint64_t src, uint64_t bytes, const ClientMemory& memory) {
  uint8_t* to = memory.resolve(dst, bytes);
  const uint8_t* from = memory.resolve(src, bytes);
  if (to != nullptr && from != nullptr) {
    std::memmove(to, from, bytes);
    return {};
  }
  if (to != nullptr) return memory.read(src, to, bytes) ? "" : no_access("copy source", src, bytes);
  if (from != nullptr)
    return memory.write(dst, from, bytes) ? "" : no_access("copy destination", dst, bytes);
  return copy_by_bounce(dst, src, bytes, memory);
}

bool one_piece(const CopyOp& op) {
  const bool rows =
      op.height == 1 || (op.dst_pitch == op.width_bytes && op.src_pitch == op.width_bytes);
  const uint64_t slice = op.width_bytes * op.height;
  return rows && (op.depth == 1 || (op.dst_slice_pitch == slice && op.src_slice_pitch == slice));
}

template <typename T>
void fill(uint8_t* to, uint64_t elements, uint32_t value) {
  const T element = static_cast<T>(value);
  for (uint64_t i = 0; i < elements; ++i) std::memcpy(to + i * sizeof(T), &element, sizeof(T));
}

void fill_row(uint8_t* to, uint64_t elements, const MemsetOp& op) {
  if (op.element_bytes == 1) {
    std::memset(to, static_cast<int>(op.value & 0xff), elements);
  } else if (op.element_bytes == 2) {
    fill<uint16_t>(to, elements, op.value);
  } else {
    fill<uint32_t>(to, elements, op.value);
  }
}

// Managed memory or pinned memory that is not shared with the server.
bool fill_foreign(uint64_t address, const MemsetOp& op, uint64_t bytes,
                  const ClientMemory& memory) {
  std::vector<uint8_t> bounce(std::min(bytes, kBounceBytes));
  fill_row(bounce.data(), bounce.size() / op.element_bytes, op);
  for (uint64_t done = 0; done < bytes; done += bounce.size())
    if (!memory.write(address + done, bounce.data(),
                      std::min<uint64_t>(bounce.size(), bytes - done)))
      return false;
  return true;
}

bool meets(const ValueOp& op, uint64_t value) {
  const uint64_t mask = op.bytes == 4 ? 0xffff'ffffULL : ~0ULL;
  const uint64_t wanted = op.value & mask;
  switch (static_cast<WaitCompare>(op.compare)) {
    case WaitCompare::kGeq:  // cyclic, as cuStreamWaitValue defines it
      return op.bytes == 4 ? static_cast<int32_t>(static_cast<uint32_t>(value - wanted)) >= 0
                           : static_cast<int64_t>(value - wanted) >= 0;
    case WaitCompare::kEq:
      return value == wanted;
    case WaitCompare::kAnd:
      return (value & wanted) != 0;
    case WaitCompare::kNor:
      return (~(value | wanted) & mask) != 0;
  }
  return false;
}

}  // namespace

std::optional<uint64_t> copy_bytes(const CopyOp& op) {
  if (op.height == 0 || op.depth == 0) return std::nullopt;
  if (op.height > 1 && std::min(op.dst_pitch, op.src_pitch) < op.width_bytes) return std::nullopt;
  const uint64_t pitch = std::max({op.dst_pitch, op.src_pitch, op.width_bytes});
  const auto slice = times(pitch, op.height);
  // Slices that overlap would let a small range stand for hours of copying.
  const uint64_t least_slice =
      std::min(op.dst_pitch, op.src_pitch) * (op.height - 1) + op.width_bytes;
  if (op.depth > 1 && std::min(op.dst_slice_pitch, op.src_slice_pitch) < least_slice)
    return std::nullopt;
  if (!slice || !times(std::max({*slice, op.dst_slice_pitch, op.src_slice_pitch}), op.depth))
    return std::nullopt;
  return op.width_bytes * op.height * op.depth;
}

std::optional<uint64_t> memset_bytes(const MemsetOp& op) {
  if (op.element_bytes != 1 && op.element_bytes != 2 && op.element_bytes != 4) return std::nullopt;
  const auto row = times(op.width_elements, op.element_bytes);
  if (!row || op.height == 0 || (op.height > 1 && op.pitch < *row)) return std::nullopt;
  if (!times(std::max(op.pitch, *row), op.height)) return std::nullopt;
  return *row * op.height;
}

std::string run_copy(const CopyOp& op, const ClientMemory& memory) {
  const auto bytes = copy_bytes(op);
  if (!bytes || *bytes == 0) return {};
  if (one_piece(op)) return copy_row(op.dst, op.src, *bytes, memory);
  for (uint64_t z = 0; z < op.depth; ++z) {
    for (uint64_t y = 0; y < op.height; ++y) {
      const uint64_t dst = op.dst + z * op.dst_slice_pitch + y * op.dst_pitch;
      const uint64_t src = op.src + z * op.src_slice_pitch + y * op.src_pitch;
      std::string failure = copy_row(dst, src, op.width_bytes, memory);
      if (!failure.empty()) return failure;
    }
  }
  return {};
}

std::string run_memset(const MemsetOp& op, const ClientMemory& memory) {
  const auto bytes = memset_bytes(op);
  if (!bytes || *bytes == 0) return {};
  const uint64_t row = *bytes / op.height;
  for (uint64_t y = 0; y < op.height; ++y) {
    const uint64_t address = op.dst + y * op.pitch;
    uint8_t* to = memory.resolve(address, row);
    if (to != nullptr) {
      fill_row(to, op.width_elements, op);
    } else if (!fill_foreign(address, op, row, memory)) {
      return no_access("memset", address, row);
    }
  }
  return {};
}

std::string run_write_value(const ValueOp& op, const ClientMemory& memory) {
  uint8_t* to = memory.resolve(op.address, op.bytes);
  if (to == nullptr || op.address % op.bytes != 0)
    return memory.write(op.address, &op.value, op.bytes)
               ? ""
               : no_access("value write", op.address, op.bytes);
  // Pairs with the acquire load by which the client polls this word.
  if (op.bytes == 4) {
    std::atomic_ref(*reinterpret_cast<uint32_t*>(to))
        .store(static_cast<uint32_t>(op.value), std::memory_order_release);
  } else {
    std::atomic_ref(*reinterpret_cast<uint64_t*>(to)).store(op.value, std::memory_order_release);
  }
  return {};
}

WaitState test_wait_value(const ValueOp& op, const ClientMemory& memory) {
  uint64_t value = 0;
  if (!memory.read(op.address, &value, op.bytes)) return WaitState::kBadAddress;
  return meets(op, value) ? WaitState::kMet : WaitState::kNotYet;
}

}  // namespace gacer::simdevice
