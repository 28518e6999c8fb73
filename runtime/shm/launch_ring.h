// SPDX-License-Identifier: Apache-2.0
// The ring of launch records: many threads of one tenant process push, the daemon pops.
//
//   slot of ticket t = t % kRingSlots;  its `sequence`:  t free for t | t + 1 filled | t + slots
//   freed by the daemon
//
// Push never waits: it takes a ticket only if that ticket's slot is free, else it returns false
// (ring full) and the caller counts a dropped record.
//
// Pop trusts nothing but its own ticket counter, which lives in the daemon's memory:
//  - a record is copied word by word, then used; its fields may hold any value;
//  - a ticket that was taken and not published for kRingStallNs (its thread was killed or sleeps)
//  is skipped;
//    a late publication of a skipped ticket only costs the records that would have used the same
//    slot;
//  - a tail that cannot be (behind the reader, or more than kRingSlots ahead) makes the reader
//  start over at
//    that tail with a fresh ring; after kRingMaxResyncs of these it stops reading this ring;
//  - no call does more than kRingSlots steps.
#pragma once

#include <cstdint>

#include "runtime/abi/segment_layout.h"

namespace gacer::shm {

inline constexpr uint64_t kRingStallNs = 20'000'000;
inline constexpr uint32_t kRingMaxResyncs = 8;

// A LaunchRecord without its publication word; same fields, same order.
struct LaunchEntry {
  uint64_t submit_ns = 0;
  uint64_t kernel_id = 0;
  uint64_t stream_cost_ns = 0;
  uint64_t blocks_or_bytes = 0;
  uint32_t cost_slot = abi::kNoCostSlot;
  uint32_t cost_ns = 0;
  uint32_t wait_ns = 0;
  uint32_t smem_bytes = 0;
  uint16_t block_threads = 0;
  uint16_t regs_per_thread = 0;
  uint8_t kind = 0;
  uint8_t stream_slot = 0;
  uint8_t reason = 0;
  uint8_t flags = 0;
  friend bool operator==(const LaunchEntry&, const LaunchEntry&) = default;
};

// Makes every slot free for tickets first_ticket, first_ticket + 1, ... By the creator before the
// segment is ready, and by the reader when it starts over.
void format_ring(abi::Segment& segment, uint64_t first_ticket = 0);

// Tenant side. Thread-safe, lock-free, no allocation. False: ring full, the record is dropped.
bool push_launch(abi::Segment& segment, const LaunchEntry& entry);

// Daemon side; one reader per segment, not thread-safe.
class LaunchRingReader {
 public:
  explicit LaunchRingReader(abi::Segment& segment) : segment_(&segment) {}

  // The next record into `entry`; false when there is none now. `now_ns` is monotonic.
  bool pop(LaunchEntry& entry, uint64_t now_ns);

  uint64_t skipped() const { return skipped_; }  // tickets given up
  uint32_t resyncs() const { return resyncs_; }
  bool closed() const { return resyncs_ >= kRingMaxResyncs; }

 private:
  enum class Step { kRecord, kEmpty, kRetry };
  Step step(LaunchEntry& entry, uint64_t now_ns);
  Step unpublished(uint64_t sequence, bool claimed, uint64_t now_ns);
  void take(LaunchEntry& entry);
  void free_slot();
  void start_over(uint64_t tail);
  abi::LaunchRecord& slot() { return segment_->ring[head_ % abi::kRingSlots]; }

  abi::Segment* segment_;
  uint64_t head_ = 0;
  uint64_t stalled_since_ns_ = 0;  // 0: not stalled
  uint64_t skipped_ = 0;
  uint32_t resyncs_ = 0;
};

}  // namespace gacer::shm
