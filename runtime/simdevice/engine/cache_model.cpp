// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/cache_model.h"

#include <algorithm>
#include <cmath>

namespace gacer::simdevice {
namespace {

constexpr double kWorthMentioning = 0.01;

// What rivals touch while the block comes back over `distance` bytes of its own.
double rival_bytes(const CacheRivals& rivals, double distance, double own_rate) {
  if (rivals.bytes <= 0) return 0;
  if (own_rate <= 0) return rivals.bytes;
  return std::min(rivals.bytes, distance * rivals.bytes_per_ns / own_rate);
}

double l1_hits(const BlockAccesses::Again& again, const BlockAccesses& accesses,
               const CacheSituation& where) {
  const double one = std::min(again.distance_bytes, accesses.first_bytes());
  const double rivals = rival_bytes(where.on_sm, one, where.bytes_per_ns);
  return hit_rate(one * where.blocks_on_sm + rivals, where.l1_bytes);
}

double l2_hits(const BlockAccesses::Again& again, const BlockAccesses& accesses,
               const CacheSituation& where) {
  const double one = std::min(again.distance_bytes, accesses.first_bytes());
  const double own = std::min(one * where.blocks_on_device, accesses.grid_bytes);
  const double rivals = rival_bytes(where.on_device, one, where.bytes_per_ns);
  return hit_rate(own + rivals, where.l2_bytes);
}

// The grid's bytes come from DRAM once; what several blocks read of the same bytes hits L2 for as
// much of them as fits.
double first_dram_bytes(const BlockAccesses& accesses, const CacheSituation& where) {
  const double all = accesses.first_bytes() * accesses.grid_blocks;
  const double grid = std::min(all, accesses.grid_bytes);
  if (grid <= 0) return 0;
  const double missing = std::max(0.0, 1.0 - where.l2_bytes / (grid + where.on_device.bytes));
  return (grid + (all - grid) * missing) / accesses.grid_blocks;
}

double share(double part, double whole) {
  return whole > 0 ? std::min(1.0, part / whole) : 0.0;
}

}  // namespace

double hit_rate(double working_bytes, double cache_bytes) {
  if (working_bytes <= cache_bytes) return 1.0;
  if (cache_bytes <= 0) return 0.0;
  const double ratio = working_bytes / cache_bytes;
  double hits = 0;  // from below: the fixed point under 1
  for (int i = 0; i < 64; ++i) {
    const double next = std::exp(-(1.0 - hits) * ratio);
    if (next - hits < 1e-6) break;
    hits = next;
  }
  return hits;
}

bool BlockAccesses::comes_back() const {
  double bytes = 0;
  for (size_t i = 1; i < again.size(); ++i) bytes += again[i].read_bytes + again[i].written_bytes;
  return bytes > kWorthMentioning * all_bytes();
}

bool BlockAccesses::is_shared() const {
  return first_bytes() * grid_blocks > (1.0 + kWorthMentioning) * grid_bytes;
}

BlockTraffic block_traffic(const BlockAccesses& accesses, const CacheSituation& where) {
  BlockTraffic out;
  out.l2_read_bytes = accesses.first_read_bytes + accesses.atomic_bytes;
  out.l2_written_bytes = accesses.written_bytes;
  out.dram_bytes = first_dram_bytes(accesses, where);
  double read_again_dram = 0;
  for (const BlockAccesses::Again& again : accesses.again) {
    if (again.read_bytes + again.written_bytes <= 0) continue;
    const double past_l1 = again.read_bytes * (1.0 - l1_hits(again, accesses, where));
    const double past_l2 = 1.0 - l2_hits(again, accesses, where);
    out.l2_read_bytes += past_l1;
    read_again_dram += past_l1 * past_l2;
    out.dram_bytes += again.written_bytes * past_l2;
  }
  out.dram_bytes += read_again_dram;
  const double past_l1 = out.l2_read_bytes - accesses.atomic_bytes;
  out.past_l1 = share(past_l1, accesses.read_bytes);
  const double first_from_dram =
      first_dram_bytes(accesses, where) * share(accesses.first_read_bytes, accesses.first_bytes());
  out.past_l2 = share(first_from_dram + read_again_dram, past_l1);
  return out;
}

}  // namespace gacer::simdevice
