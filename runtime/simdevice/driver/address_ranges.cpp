// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/virtual_memory.h"

namespace gacer::simdriver {
namespace {

uint64_t round_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

bool AddressRanges::is_free(uint64_t address, uint64_t bytes) const {
  if (address < begin_ || address >= end_ || bytes > end_ - address) return false;
  const auto after = reserved_.lower_bound(address);
  if (after != reserved_.end() && after->first - address < bytes) return false;
  if (after == reserved_.begin()) return true;
  const auto before = std::prev(after);
  return address - before->first >= before->second;
}

std::optional<uint64_t> AddressRanges::reserve(uint64_t bytes, uint64_t alignment, uint64_t hint) {
  uint64_t place = hint;
  if (hint == 0 || hint % alignment != 0 || !is_free(hint, bytes)) {
    place = round_up(begin_, alignment);
    for (const auto& [address, held] : reserved_) {
      if (place < address && address - place >= bytes) break;
      place = std::max(place, round_up(address + held, alignment));
    }
    if (!is_free(place, bytes)) return std::nullopt;
  }
  reserved_[place] = bytes;
  return place;
}

bool AddressRanges::release(uint64_t address, uint64_t bytes) {
  const auto found = reserved_.find(address);
  if (found == reserved_.end() || found->second != bytes) return false;
  reserved_.erase(found);
  return true;
}

std::optional<AddressRanges::Range> AddressRanges::find(uint64_t address) const {
  const auto after = reserved_.upper_bound(address);
  if (after == reserved_.begin()) return std::nullopt;
  const auto& [base, held] = *std::prev(after);
  if (address - base >= held) return std::nullopt;
  return Range{base, held};
}

bool AddressRanges::holds(uint64_t address, uint64_t bytes) const {
  const auto range = find(address);
  return range && bytes <= range->bytes - (address - range->address);
}

}  // namespace gacer::simdriver
