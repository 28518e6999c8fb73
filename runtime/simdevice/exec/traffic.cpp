// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/traffic.h"

#include <algorithm>
#include <bit>

namespace gacer::simdevice {
namespace {

uint64_t hash_of(uint64_t line) {
  line *= 0x9e3779b97f4a7c15ULL;
  return line ^ (line >> 32);
}

// Sectors of a line: four bits.
uint64_t sector_count(uint32_t sectors) {
  return 0x4332322132212110ULL >> (4 * (sectors & 15)) & 15;
}

constexpr uint64_t kSectorBytes = 32;

void count_again(ReuseBucket& bucket, uint64_t sectors, bool is_write) {
  (is_write ? bucket.written_sectors : bucket.read_sectors) += sectors;
}

}  // namespace

void TrafficMeter::reset(uint32_t warps) {
  progress_.assign(warps, 0);
  warp_ = 0;
  reuse_ = {};
  if (++epoch_ == 0) {
    std::fill(lines_.begin(), lines_.end(), Line{});
    epoch_ = 1;
  }
  used_ = thinning_ = 0;
  kept_[0] = kept_[1] = sectors_[0] = sectors_[1] = 0;
  last_line_ = ~uint64_t{0};
}

// The slot that holds the line or is free for it.
TrafficMeter::Line* TrafficMeter::slot_of(uint64_t line, uint64_t hash) {
  for (uint64_t i = hash >> 20;; ++i) {
    Line& slot = lines_[i & (kSlots - 1)];
    if (slot.epoch != epoch_) {
      slot = Line{};
      return &slot;
    }
    if (slot.key == line + 1) return &slot;
  }
}

void TrafficMeter::thin_out() {
  std::vector<Line> kept;
  ++thinning_;
  kept_[0] = kept_[1] = used_ = 0;
  const uint64_t drop = (uint64_t{1} << thinning_) - 1;
  for (const Line& slot : lines_)
    if (slot.epoch == epoch_ && (hash_of(slot.key - 1) & drop) == 0) kept.push_back(slot);
  ++epoch_;
  for (Line slot : kept) {
    slot.epoch = epoch_;
    *slot_of(slot.key - 1, hash_of(slot.key - 1)) = slot;
    for (int w : {0, 1}) kept_[w] += sector_count(slot.seen[w]);
    ++used_;
  }
}

// Warps progress alike, whatever the order in which they are run here.
void TrafficMeter::count_reuse(Line& slot, uint8_t sectors, uint32_t now, bool is_write) {
  const uint32_t seen = slot.seen[0] | slot.seen[1];
  for (uint32_t rest = sectors; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const uint32_t last = slot.last[i];
    slot.last[i] = now;
    if ((seen >> i & 1) == 0) continue;
    const uint64_t distance = uint64_t{now > last ? now - last : last - now} * progress_.size();
    const uint64_t kib = distance * kSectorBytes >> 10;
    ReuseBucket& bucket = reuse_[std::min<size_t>(std::bit_width(kib), kReuseBuckets - 1)];
    count_again(bucket, uint64_t{1} << thinning_, is_write);
    bucket.distance += distance << thinning_;
  }
}

void TrafficMeter::add_reuse(std::array<ReuseBucket, kReuseBuckets>& sum) const {
  for (size_t i = 0; i < kReuseBuckets; ++i) sum[i].add(reuse_[i]);
}

void TrafficMeter::touch(uint64_t line, uint8_t sectors, bool is_write) {
  const int w = is_write;
  const uint32_t now = progress_[warp_] += static_cast<uint32_t>(sector_count(sectors));
  if (line == last_line_ && (sectors & ~(last_seen_[w] & last_touched_)) == 0) {
    count_again(reuse_[0], sector_count(sectors) << thinning_, is_write);
    return;
  }
  const uint64_t hash = hash_of(line);
  if ((hash & ((uint64_t{1} << thinning_) - 1)) != 0) return;
  Line* slot = slot_of(line, hash);
  if (slot->key == 0) {
    *slot = {line + 1, epoch_, {0, 0}, {}};
    ++used_;
  }
  count_reuse(*slot, sectors, now, is_write);
  kept_[w] += sector_count(static_cast<uint32_t>(sectors & ~slot->seen[w]));
  slot->seen[w] |= sectors;
  last_touched_ = line == last_line_ ? static_cast<uint8_t>(last_touched_ | sectors) : sectors;
  last_line_ = line;
  last_seen_[0] = slot->seen[0];
  last_seen_[1] = slot->seen[1];
  if (used_ > kSlots - kSlots / 4) thin_out();
}

void TrafficMeter::add_range(uint64_t address, uint64_t bytes, bool is_write) {
  const uint64_t first = address >> 5, last = (address + bytes - 1) >> 5;
  sectors_[is_write] += last - first + 1;
  for (uint64_t line = first >> 2; line <= last >> 2; ++line) {
    const uint64_t from = std::max(first, line << 2) & 3, to = std::min(last, (line << 2) + 3) & 3;
    touch(line, static_cast<uint8_t>((2u << to) - (1u << from)), is_write);
  }
}

void TrafficMeter::add_lanes(const uint64_t* address, uint32_t mask, bool is_write) {
  // The distinct lines of this access, found through a small hash table of their positions + 1.
  uint64_t lines[32];
  uint8_t sectors[32];
  uint8_t position[64] = {};
  uint32_t count = 0, last = 0;
  for (; mask != 0; mask &= mask - 1) {
    const uint64_t a = address[std::countr_zero(mask)], line = a >> 7;
    const uint8_t sector = static_cast<uint8_t>(1u << (a >> 5 & 3));
    if (count == 0 || lines[last] != line) {
      uint32_t slot = static_cast<uint32_t>(line * 0x9e3779b97f4a7c15ULL >> 58);
      while (position[slot] != 0 && lines[position[slot] - 1] != line) slot = (slot + 1) & 63;
      if (position[slot] == 0) {
        lines[count] = line;
        sectors[count] = 0;
        position[slot] = static_cast<uint8_t>(++count);
      }
      last = position[slot] - 1u;
    }
    sectors[last] |= sector;
  }
  for (uint32_t i = 0; i < count; ++i) {
    sectors_[is_write] += sector_count(sectors[i]);
    touch(lines[i], sectors[i], is_write);
  }
}

}  // namespace gacer::simdevice
