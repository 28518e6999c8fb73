// SPDX-License-Identifier: Apache-2.0
// What of a block's memory traffic the caches catch, given who else uses them.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/simdevice/device_models.h"

namespace gacer::simdevice {

// Share of accesses that hit when `working_bytes` are gone through again and again in a cache of
// `cache_bytes` that replaces lines at random: a line survives until its turn comes with
// probability h = exp(-(1 - h) * working / cache). 1 when all fits.
double hit_rate(double working_bytes, double cache_bytes);

// Others that use the same cache: the bytes they touch, and how fast they touch them.
struct CacheRivals {
  double bytes = 0;
  double bytes_per_ns = 0;
  bool operator==(const CacheRivals&) const = default;
};

// Memory accesses of one block of a kernel.
struct BlockAccesses {
  struct Again {
    double distance_bytes = 0;  // that the block touched in between
    double read_bytes = 0;
    double written_bytes = 0;
  };
  double read_bytes = 0;  // in sectors, every access
  double written_bytes = 0;
  double first_read_bytes = 0;  // not touched before by the block
  double first_written_bytes = 0;
  double atomic_bytes = 0;
  std::array<Again, kReuseBuckets> again{};
  double grid_bytes = 0;  // that the whole grid touches
  double grid_blocks = 1;

  double first_bytes() const { return first_read_bytes + first_written_bytes; }
  double all_bytes() const { return read_bytes + written_bytes + atomic_bytes; }
  bool comes_back() const;  // a share worth mentioning of the accesses is to known places
  bool is_shared() const;   // blocks touch the same bytes
};

// Where the block runs.
struct CacheSituation {
  double l1_bytes = 0;      // that shared memory leaves
  double blocks_on_sm = 1;  // of the kernel
  double blocks_on_device = 1;
  double l2_bytes = 0;
  double bytes_per_ns = 0;  // of one block, to be compared with rivals
  CacheRivals on_sm, on_device;
  bool operator==(const CacheSituation&) const = default;
};

// Of one block.
struct BlockTraffic {
  double l2_read_bytes = 0;     // past L1
  double l2_written_bytes = 0;  // L1 writes through
  double dram_bytes = 0;
  double past_l1 = 0;  // share of the read accesses
  double past_l2 = 0;  // share of those
};
BlockTraffic block_traffic(const BlockAccesses& accesses, const CacheSituation& where);

}  // namespace gacer::simdevice
