// SPDX-License-Identifier: Apache-2.0
#include "interpose/launch_cache.h"

namespace gacer::interpose {

namespace detail {
constinit LaunchCache the_launch_cache;
}

void LaunchCache::remember(const LaunchKey& key, uint32_t generation, const KnownLaunch& known) {
  if (key.stream == 0 || !lock_.try_lock()) return;
  constexpr auto release = std::memory_order_release;  // each pairs with find()
  Entry& entry = entries_[index_of(key)];
  // Already odd where a fork cut a writer off.
  const uint64_t writing = entry.version.load(std::memory_order_relaxed) | 1;
  entry.version.store(writing, std::memory_order_relaxed);
  entry.handle.store(key.handle, release);
  entry.stream.store(key.stream, release);
  entry.grid_xy.store(key.grid_xy, release);
  entry.grid_z_block_x.store(key.grid_z_block_x, release);
  entry.block_yz.store(key.block_yz, release);
  entry.smem_generation.store(pair(key.smem_bytes, generation), release);
  entry.shape_word.store(known.shape_word | (known.collective ? kCollectiveBit : 0), release);
  entry.kernel_id.store(known.kernel_id, release);
  entry.blocks.store(known.blocks, release);
  entry.slot_guess.store(pair(known.cost_slot, known.guess_ns), release);
  entry.smem_stream.store(pair(known.smem_bytes, known.stream_slot), release);
  entry.version.store(writing + 1, release);
  lock_.unlock();
}

}  // namespace gacer::interpose
