// SPDX-License-Identifier: Apache-2.0
// What was found out about kernel launches made before, so that one that comes again costs one look
// at two cache lines in place of three table searches.
//
// A fact of an entry holds as long as KernelRegistry::generation() is the one it was found under
// and its stream slot still belongs to its stream (StreamTable::is_owner()); the reader checks
// both. Reading is lock-free: an entry that is being written, or was written meanwhile, is a miss.
// Writing never waits: a thread that finds the lock taken leaves the entry as it is.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/flat_map.h"
#include "interpose/spin_lock.h"

namespace gacer::interpose {

// All that tells one launch from another. Packed from the program's arguments in registers: fields
// stored one by one and loaded as a wider word would stall the processor.
struct LaunchKey {
  uint64_t handle;
  uint64_t stream;          // stream_key(); 0 is in no entry
  uint64_t grid_xy;         // x in the low half
  uint64_t grid_z_block_x;  // grid's z in the low half
  uint64_t block_yz;        // y in the low half
  uint32_t smem_bytes;      // dynamic
};

// Words as LaunchRecord has them, ready to be stored (see launch_ring.h).
struct KnownLaunch {
  uint64_t kernel_id;
  uint64_t blocks;
  uint32_t cost_slot;   // abi::kNoCostSlot: none
  uint32_t guess_ns;    // of the cost, until the daemon knows better
  uint32_t smem_bytes;  // per block, static and dynamic
  uint32_t stream_slot;
  uint64_t shape_word;  // block_threads, regs_per_thread, kind, stream_slot
  bool collective;
};

class LaunchCache {
 public:
  bool find(const LaunchKey& key, uint32_t generation, KnownLaunch& known) const;
  // `generation`: as it was before anything of `known` was looked up.
  void remember(const LaunchKey& key, uint32_t generation, const KnownLaunch& known);

  // In a fork child, before any other thread exists.
  void reset_lock() { lock_.unlock(); }

 private:
  static constexpr uint32_t kEntries = 1024;  // power of two
  static constexpr uint64_t kCollectiveBit = 1ULL << 63;

  struct alignas(128) Entry {
    std::atomic<uint64_t> version{0};  // odd: being written
    std::atomic<uint64_t> handle{0};
    std::atomic<uint64_t> stream{0};
    std::atomic<uint64_t> grid_xy{0};
    std::atomic<uint64_t> grid_z_block_x{0};
    std::atomic<uint64_t> block_yz{0};
    std::atomic<uint64_t> smem_generation{0};
    std::atomic<uint64_t> shape_word{0};  // with kCollectiveBit
    std::atomic<uint64_t> kernel_id{0};
    std::atomic<uint64_t> blocks{0};
    std::atomic<uint64_t> slot_guess{0};
    std::atomic<uint64_t> smem_stream{0};
  };

  static uint64_t pair(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }
  static uint32_t index_of(const LaunchKey& key) {
    const uint64_t mixed = (key.handle ^ key.stream * 0x9e3779b97f4a7c15ULL ^ key.grid_xy << 17 ^
                            key.grid_z_block_x ^ key.block_yz << 9 ^ key.smem_bytes) *
                           0xbf58476d1ce4e5b9ULL;
    return static_cast<uint32_t>(mixed >> 54);
  }
  static_assert(kEntries == 1u << (64 - 54));
  static bool matches(const Entry& entry, const LaunchKey& key, uint32_t generation);

  SpinLock lock_;
  Entry entries_[kEntries];
};

// One per process; constant-initialised, 128 KiB of zero pages.
namespace detail {
extern LaunchCache the_launch_cache;
}
inline LaunchCache& launch_cache() {
  return detail::the_launch_cache;
}

// Inline: on the path of every regulated launch.

inline bool LaunchCache::matches(const Entry& entry, const LaunchKey& key, uint32_t generation) {
  constexpr auto acquire = std::memory_order_acquire;  // as in find()
  const uint64_t differ = (entry.handle.load(acquire) ^ key.handle) |
                          (entry.stream.load(acquire) ^ key.stream) |
                          (entry.grid_xy.load(acquire) ^ key.grid_xy) |
                          (entry.grid_z_block_x.load(acquire) ^ key.grid_z_block_x) |
                          (entry.block_yz.load(acquire) ^ key.block_yz) |
                          (entry.smem_generation.load(acquire) ^ pair(key.smem_bytes, generation));
  return differ == 0;
}

[[gnu::always_inline]] inline bool LaunchCache::find(const LaunchKey& key, uint32_t generation,
                                                     KnownLaunch& known) const {
  // A sequence lock. Words are loaded with acquire so that the second look at the version comes
  // after them; each pairs with a release store in remember().
  constexpr auto acquire = std::memory_order_acquire;
  const Entry& entry = entries_[index_of(key)];
  const uint64_t version = entry.version.load(acquire);
  if (!matches(entry, key, generation)) return false;
  const uint64_t shape_word = entry.shape_word.load(acquire);
  const uint64_t slot_guess = entry.slot_guess.load(acquire);
  const uint64_t smem_stream = entry.smem_stream.load(acquire);
  known.kernel_id = entry.kernel_id.load(acquire);
  known.blocks = entry.blocks.load(acquire);
  known.cost_slot = static_cast<uint32_t>(slot_guess);
  known.guess_ns = static_cast<uint32_t>(slot_guess >> 32);
  known.smem_bytes = static_cast<uint32_t>(smem_stream);
  known.stream_slot = static_cast<uint32_t>(smem_stream >> 32);
  known.shape_word = shape_word & ~kCollectiveBit;
  known.collective = (shape_word & kCollectiveBit) != 0;
  const bool written = version != 0 && version % 2 == 0;
  return written && entry.version.load(std::memory_order_relaxed) == version;
}

}  // namespace gacer::interpose
