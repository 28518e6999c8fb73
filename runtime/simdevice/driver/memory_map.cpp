// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "runtime/simdevice/driver/memory.h"

namespace gacer::simdriver {

void MemoryMap::set_device_range(uint64_t base, uint64_t bytes) {
  device_base_ = base;
  device_bytes_ = bytes;
}

void MemoryMap::add(const Allocation& allocation) {
  const std::unique_lock lock(mutex_);
  allocations_[allocation.base] = allocation;
}

std::optional<Allocation> MemoryMap::remove(uint64_t base) {
  const std::unique_lock lock(mutex_);
  const auto found = allocations_.find(base);
  if (found == allocations_.end()) return std::nullopt;
  const Allocation allocation = found->second;
  allocations_.erase(found);
  return allocation;
}

std::optional<Allocation> MemoryMap::find(uint64_t address, uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return std::nullopt;
  const Allocation& candidate = std::prev(after)->second;
  const uint64_t offset = address - candidate.base;
  if (offset >= candidate.bytes) return std::nullopt;
  uint64_t held = candidate.bytes - offset;
  for (; held < bytes && candidate.mapped() && after != allocations_.end(); ++after) {
    const Allocation& next = after->second;
    if (!next.mapped() || next.base != address + held || next.accessible != candidate.accessible)
      break;
    held += next.bytes;
  }
  if (bytes > held) return std::nullopt;
  return candidate;
}

bool MemoryMap::overlaps(uint64_t address, uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto after = allocations_.lower_bound(address);
  if (after != allocations_.end() && after->first - address < bytes) return true;
  if (after == allocations_.begin()) return false;
  const Allocation& before = std::prev(after)->second;
  return address - before.base < before.bytes;
}

std::vector<Allocation> MemoryMap::remove_context(uint32_t context_id) {
  std::vector<Allocation> removed;
  const std::unique_lock lock(mutex_);
  for (auto it = allocations_.begin(); it != allocations_.end();) {
    if (it->second.context_id != context_id) {
      ++it;
      continue;
    }
    removed.push_back(it->second);
    it = allocations_.erase(it);
  }
  return removed;
}

}  // namespace gacer::simdriver
