// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/kernel_table.h"

#include <bit>

namespace gacer::regulator {
namespace {

constexpr uint32_t kKernelKind = 1;
constexpr uint32_t kGraphKind = 4;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 32);
}

}  // namespace

KernelKey key_of(const LaunchEvent& launch) {
  if (launch.kind == kKernelKind || launch.kind == kGraphKind) {
    return {launch.kernel_id, launch.blocks, launch.block_threads, launch.smem_bytes, launch.kind};
  }
  return {0, std::bit_floor(launch.blocks), 0, 0, launch.kind};
}

size_t KernelTable::Hash::operator()(const KernelKey& key) const {
  const uint64_t shape = uint64_t{key.block_threads} << 32 | key.smem_bytes;
  return mix(mix(mix(key.kernel_id, key.blocks), shape), key.kind);
}

KernelEstimate* KernelTable::find(const KernelKey& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &*found->second;
}

KernelEstimate& KernelTable::insert(const KernelEstimate& estimate) {
  if (entries_.size() >= capacity_) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front(estimate);
  index_[estimate.key] = entries_.begin();
  return entries_.front();
}

}  // namespace gacer::regulator
