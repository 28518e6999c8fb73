// SPDX-License-Identifier: Apache-2.0
// What is known of the kernels of one process: duration estimates by kernel and shape, bounded in
// number (the least recently used one goes). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>

#include "runtime/regulator/regulator.h"

namespace gacer::regulator {

struct KernelKey {
  uint64_t kernel_id = 0;
  uint64_t blocks = 0;
  uint32_t block_threads = 0;
  uint32_t smem_bytes = 0;
  uint32_t kind = 0;
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

// Copies and memsets are told apart by the power of two of their bytes only.
KernelKey key_of(const LaunchEvent& launch);

struct KernelEstimate {
  KernelKey key;
  double duration_ns = 0;
  double sm_share = 1;
  uint32_t samples = 0;    // observations in which nothing else ran
  uint32_t cost_slot = 0;  // where the tenant looks the cost up
  uint64_t learnt_in_group = 0;
};

class KernelTable {
 public:
  explicit KernelTable(size_t capacity) : capacity_(capacity) {}

  // The entry is marked as recently used; null when absent. Valid until the next insert().
  KernelEstimate* find(const KernelKey& key);
  KernelEstimate& insert(const KernelEstimate& estimate);
  size_t size() const { return entries_.size(); }

 private:
  struct Hash {
    size_t operator()(const KernelKey& key) const;
  };
  using Entries = std::list<KernelEstimate>;

  size_t capacity_;
  Entries entries_;  // most recently used first
  std::unordered_map<KernelKey, Entries::iterator, Hash> index_;
};

}  // namespace gacer::regulator
