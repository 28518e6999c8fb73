// SPDX-License-Identifier: Apache-2.0
// Handle -> 64-bit value. Constant-initialised, never throws: an insert that gets no memory returns
// false. Not thread-safe; each user brings a lock. Memory is kept until the process ends.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gacer::interpose {

inline uint64_t mix_bits(uint64_t value) {  // finaliser of splitmix64
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9ULL;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

class FlatMap {
 public:
  // Keys 0 and UINT64_MAX are reserved: set() refuses them, find() does not know them.
  bool set(uint64_t key, uint64_t value) {
    if (key == kFree || key == kErased) return false;
    if ((filled_ + 1) * 4 > capacity_ * 3 && !grow()) return false;
    Entry& entry = probe(key);
    if (entry.key != key) {
      ++size_;
      if (entry.key == kFree) ++filled_;
    }
    entry = {key, value};
    return true;
  }

  // NULL: unknown key. Valid until the next set().
  uint64_t* find(uint64_t key) {
    if (capacity_ == 0 || key == kFree || key == kErased) return nullptr;
    Entry& entry = probe(key);
    return entry.key == key ? &entry.value : nullptr;
  }

  bool take(uint64_t key, uint64_t& value) {
    uint64_t* found = find(key);
    if (found == nullptr) return false;
    value = *found;
    probe(key).key = kErased;
    --size_;
    return true;
  }

  // visit(key, value) for each entry; it may not change the map.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (uint64_t i = 0; i < capacity_; ++i)
      if (entries_[i].key != kFree && entries_[i].key != kErased)
        visit(entries_[i].key, entries_[i].value);
  }

  template <typename Unwanted>
  void erase_if(const Unwanted& unwanted) {
    for (uint64_t i = 0; i < capacity_; ++i) {
      Entry& entry = entries_[i];
      if (entry.key == kFree || entry.key == kErased || !unwanted(entry.key, entry.value)) continue;
      entry.key = kErased;
      --size_;
    }
  }

  // Of any entry; false: there is none.
  bool take_any(uint64_t& value) {
    for (uint64_t i = 0; size_ != 0 && i < capacity_; ++i)
      if (entries_[i].key != kFree && entries_[i].key != kErased)
        return take(entries_[i].key, value);
    return false;
  }

  uint64_t size() const { return size_; }
  void clear() {
    for (uint64_t i = 0; i < capacity_; ++i) entries_[i].key = kFree;
    size_ = filled_ = 0;
  }

 private:
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kErased = UINT64_MAX;
  struct Entry {
    uint64_t key;
    uint64_t value;
  };

  // The key's entry, or the place where it belongs.
  Entry& probe(uint64_t key) {
    Entry* reusable = nullptr;
    for (uint64_t i = mix_bits(key);; ++i) {
      Entry& entry = entries_[i & (capacity_ - 1)];
      if (entry.key == key) return entry;
      if (entry.key == kErased && reusable == nullptr) reusable = &entry;
      if (entry.key == kFree) return reusable != nullptr ? *reusable : entry;
    }
  }

  bool grow() {
    const uint64_t old_capacity = capacity_;
    Entry* const old_entries = entries_;
    const uint64_t capacity = size_ * 4 > old_capacity ? old_capacity * 2 : old_capacity;
    const uint64_t wanted = capacity == 0 ? 64 : capacity;
    auto* entries = static_cast<Entry*>(calloc(wanted, sizeof(Entry)));
    if (entries == nullptr) return false;
    entries_ = entries;
    capacity_ = wanted;
    filled_ = size_;
    for (uint64_t i = 0; i < old_capacity; ++i)
      if (old_entries[i].key != kFree && old_entries[i].key != kErased)
        probe(old_entries[i].key) = old_entries[i];
    free(old_entries);
    return true;
  }

  Entry* entries_ = nullptr;
  uint64_t capacity_ = 0;  // power of two
  uint64_t size_ = 0;
  uint64_t filled_ = 0;  // live and erased entries
};

}  // namespace gacer::interpose
