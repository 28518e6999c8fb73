// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/foreign_shadow.h"

#include <algorithm>
#include <cstring>

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMostBytes = 1ULL << 30;
constexpr size_t kStep = 4096;

}  // namespace

ForeignShadow::ForeignShadow(std::span<const uint64_t> pointers, const ClientMemory& memory,
                             const AddressSpace& space)
    : context_space_(space) {
  for (const uint64_t pointer : pointers)
    if (const auto range = memory.foreign_at(pointer)) add(*range, memory);
  if (copies_.empty()) return;
  std::vector<MemoryRegion> regions = space.regions();
  for (Copy& copy : copies_) regions.push_back({copy.address, copy.now.size(), copy.now.data()});
  std::sort(regions.begin(), regions.end(),
            [](const MemoryRegion& a, const MemoryRegion& b) { return a.base < b.base; });
  space_ = AddressSpace(std::move(regions));
}

void ForeignShadow::add(const HostRange& range, const ClientMemory& memory) {
  for (const Copy& copy : copies_)
    if (copy.address == range.address) return;
  if (range.bytes > kMostBytes - bytes_) return;
  Copy copy{range.address, {}, std::vector<uint8_t>(range.bytes)};
  if (!memory.read(range.address, copy.now.data(), range.bytes)) return;
  copy.before = copy.now;
  bytes_ += range.bytes;
  copies_.push_back(std::move(copy));
}

// Byte by byte: the client may change what lies between.
void ForeignShadow::write_back(const ClientMemory& memory) const {
  for (const Copy& copy : copies_) {
    const size_t size = copy.now.size();
    for (size_t at = 0; at < size; at += kStep) {
      const size_t end = std::min(at + kStep, size);
      if (std::memcmp(&copy.now[at], &copy.before[at], end - at) == 0) continue;
      for (size_t i = at; i < end;) {
        size_t past = i;
        while (past < end && copy.now[past] != copy.before[past]) ++past;
        if (past > i) memory.write(copy.address + i, &copy.now[i], past - i);
        i = past + 1;
      }
    }
  }
}

}  // namespace gacer::simdevice
