// SPDX-License-Identifier: Apache-2.0
// What was charged for which address or handle. Constant-initialised, never throws: put() returns
// false when there is no memory. Not thread-safe. Memory is kept until the process ends.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "interpose/cuda_api.h"
#include "interpose/flat_map.h"

namespace gacer::interpose {

struct MemoryRecord {
  uint64_t key = 0;  // device pointer or handle
  uint64_t bytes = 0;
  CUcontext context = nullptr;  // that takes it along when it is destroyed; NULL: none
  uint32_t device = 0;          // index in MemoryDevices
  uint32_t pool = 0;            // 0: not from a pool; else see memory_pools.h
};

class MemoryRecords {
 public:
  bool put(const MemoryRecord& record) {
    if (size_ == capacity_ && !grow()) return false;
    uint64_t* known = places_.find(record.key);
    if (known != nullptr) {  // the driver gave it out again: we missed its end
      records_[*known] = record;
      return true;
    }
    if (!places_.set(record.key, size_)) return false;
    records_[size_++] = record;
    return true;
  }

  MemoryRecord* find(uint64_t key) {
    uint64_t* place = places_.find(key);
    return place == nullptr ? nullptr : &records_[*place];
  }

  bool take(uint64_t key, MemoryRecord& record) {
    uint64_t place = 0;
    if (!places_.take(key, place)) return false;
    record = records_[place];
    const MemoryRecord last = records_[--size_];
    if (place == size_) return true;
    records_[place] = last;
    if (uint64_t* moved = places_.find(last.key)) *moved = place;
    return true;
  }

  // Takes out every record for which `matches(record)`, giving each to `taken(record)`.
  template <typename Matches, typename Taken>
  void take_if(const Matches& matches, const Taken& taken) {
    for (uint64_t i = 0; i < size_;) {
      MemoryRecord record = records_[i];
      if (matches(record) && take(record.key, record))
        taken(record);
      else
        ++i;
    }
  }

  uint64_t size() const { return size_; }
  void clear() {
    places_.clear();
    size_ = 0;
  }

 private:
  bool grow() {
    const uint64_t wanted = capacity_ == 0 ? 64 : capacity_ * 2;
    void* grown = realloc(records_, wanted * sizeof(MemoryRecord));
    if (grown == nullptr) return false;
    records_ = static_cast<MemoryRecord*>(grown);
    capacity_ = wanted;
    return true;
  }

  FlatMap places_;  // key -> index
  MemoryRecord* records_ = nullptr;
  uint64_t size_ = 0;
  uint64_t capacity_ = 0;
};

}  // namespace gacer::interpose
