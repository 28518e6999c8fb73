// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_vmm.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace gacer::interpose {
namespace {

template <typename T>
bool make_room(T*& items, uint64_t count, uint64_t& capacity) {
  if (count < capacity) return true;
  const uint64_t wanted = capacity == 0 ? 64 : capacity * 2;
  void* grown = realloc(static_cast<void*>(items), wanted * sizeof(T));
  if (grown == nullptr) return false;
  items = static_cast<T*>(grown);
  capacity = wanted;
  return true;
}

}  // namespace

bool MemoryVmm::add_block(const Block& block, uint64_t& index) {
  if (free_blocks_ != 0) {
    index = 0;
    while (blocks_[index].in_use != 0) ++index;
    --free_blocks_;
  } else {
    if (!make_room(blocks_, block_count_, block_capacity_)) return false;
    index = block_count_++;
  }
  blocks_[index] = block;
  return true;
}

void MemoryVmm::created(CUmemGenericAllocationHandle handle, uint32_t device, uint64_t bytes) {
  if (device == kNoDevice) return;
  const SleepGuard guard(lock_);
  uint64_t index = 0;
  if (add_block({bytes, device, 1, 0, 1}, index) && handles_.set(handle, index)) return;
  ledger_.cancel(device, bytes);  // its end could not be recognised
}

void MemoryVmm::retained(CUmemGenericAllocationHandle handle, CUdeviceptr address) {
  const SleepGuard guard(lock_);
  const uint64_t place = mapping_at(address + 1);
  if (place == 0) return;
  const Mapping& before = mappings_[place - 1];
  if (address - before.address >= before.bytes) return;
  if (handles_.set(handle, before.block)) ++blocks_[before.block].handles;
}

bool MemoryVmm::take_handle(CUmemGenericAllocationHandle handle, uint64_t& block) {
  const SleepGuard guard(lock_);
  const uint64_t* found = handles_.find(handle);
  if (found == nullptr) return false;
  block = *found;
  uint64_t ignored = 0;
  if (--blocks_[block].handles == 0) handles_.take(handle, ignored);
  // Kept alive until the driver has answered.
  ++blocks_[block].mappings;
  return true;
}

void MemoryVmm::released(CUmemGenericAllocationHandle handle, uint64_t block, bool done) {
  const SleepGuard guard(lock_);
  --blocks_[block].mappings;
  if (!done && handles_.set(handle, block)) ++blocks_[block].handles;
  end_if_unused(block);
}

uint64_t MemoryVmm::mapping_at(CUdeviceptr address) const {
  const Mapping* const end = mappings_ + mapping_count_;
  const Mapping* const found =
      std::lower_bound(static_cast<const Mapping*>(mappings_), end, address,
                       [](const Mapping& a, CUdeviceptr b) { return a.address < b; });
  return static_cast<uint64_t>(found - mappings_);
}

bool MemoryVmm::insert(const Mapping& mapping) {
  if (!make_room(mappings_, mapping_count_, mapping_capacity_)) return false;
  const uint64_t place = mapping_at(mapping.address);
  memmove(mappings_ + place + 1, mappings_ + place, (mapping_count_ - place) * sizeof(Mapping));
  mappings_[place] = mapping;
  ++mapping_count_;
  return true;
}

void MemoryVmm::mapped(CUdeviceptr address, uint64_t bytes, CUmemGenericAllocationHandle handle) {
  const SleepGuard guard(lock_);
  const uint64_t* found = handles_.find(handle);
  if (found == nullptr) return;
  if (insert({address, bytes, *found})) ++blocks_[*found].mappings;
}

MemoryVmm::Taken MemoryVmm::take_mappings(CUdeviceptr address, uint64_t bytes) {
  const SleepGuard guard(lock_);
  const uint64_t first = mapping_at(address);
  uint64_t last = first;
  while (last < mapping_count_ && mappings_[last].address - address < bytes) ++last;
  const uint64_t count = last - first;
  if (count == 0) return {nullptr, 0};
  auto* items = static_cast<Mapping*>(malloc(count * sizeof(Mapping)));
  if (items == nullptr) return {nullptr, 0};  // they stay charged
  memcpy(items, mappings_ + first, count * sizeof(Mapping));
  memmove(mappings_ + first, mappings_ + last, (mapping_count_ - last) * sizeof(Mapping));
  mapping_count_ -= count;
  return {items, count};
}

void MemoryVmm::unmapped(Taken& taken, bool done) {
  if (taken.count == 0) return;
  const SleepGuard guard(lock_);
  for (uint64_t i = 0; i < taken.count; ++i) {
    const Mapping& mapping = taken.items[i];
    if (!done && insert(mapping)) continue;
    --blocks_[mapping.block].mappings;
    end_if_unused(mapping.block);
  }
  free(taken.items);
}

void MemoryVmm::end_if_unused(uint64_t index) {
  Block& block = blocks_[index];
  if (block.in_use == 0 || block.handles != 0 || block.mappings != 0) return;
  block.in_use = 0;
  ++free_blocks_;
  ledger_.cancel(block.device, block.bytes);
}

void MemoryVmm::reset() {
  lock_.force_open();
  handles_.clear();
  block_count_ = free_blocks_ = mapping_count_ = 0;
}

}  // namespace gacer::interpose
