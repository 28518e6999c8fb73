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

// The same as the seven words that a slot holds after its publication word. For the launch path:
// packed from registers, since narrow stores before wide loads stall the processor.
struct LaunchWords {
  uint64_t submit_ns;
  uint64_t kernel_id;
  uint64_t stream_cost_ns;
  uint64_t blocks_or_bytes;
  uint64_t slot_cost;  // cost_slot, cost_ns
  uint64_t wait_smem;  // wait_ns, smem_bytes
  uint64_t shape;      // shape_word() and the reason of the wait

  static constexpr uint64_t pair(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }
  static constexpr uint64_t shape_word(uint16_t block_threads, uint16_t regs_per_thread,
                                       abi::LaunchKind kind, uint8_t stream_slot) {
    return uint64_t{block_threads} | uint64_t{regs_per_thread} << 16 |
           uint64_t{static_cast<uint8_t>(kind)} << 32 | uint64_t{stream_slot} << 40;
  }
  static constexpr uint64_t reason_bits(abi::Reason reason) {
    return uint64_t{static_cast<uint8_t>(reason)} << 48;
  }
};

// Makes every slot free for tickets first_ticket, first_ticket + 1, ... By the creator before the
// segment is ready, and by the reader when it starts over.
void format_ring(abi::Segment& segment, uint64_t first_ticket = 0);

// Tenant side. Thread-safe, lock-free, no allocation. False: ring full, the record is dropped.
// `alone`: no other thread of this process pushes meanwhile.
inline bool push_launch(abi::Segment& segment, const LaunchWords& words, bool alone = false);
bool push_launch(abi::Segment& segment, const LaunchEntry& entry);

// Fetches the cache line of a slot that will be filled soon: the daemon's processor has it.
inline void expect_launch(abi::Segment& segment);

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

// Inline: on the path of every regulated launch.

namespace detail {
// A claim can only fail because other threads claimed; past this many the record is not worth more
// time.
inline constexpr int kPushAttempts = 64;
inline constexpr uint64_t kFetchAhead = 8;  // slots: about the time that a line takes to come

// NULL: ring full.
inline abi::LaunchRecord* claim_slot(abi::Segment& segment, uint64_t& ticket) {
  std::atomic<uint64_t>& tail = segment.ring_control.tail;
  ticket = tail.load(std::memory_order_relaxed);
  for (int attempt = 0; attempt < kPushAttempts; ++attempt) {
    abi::LaunchRecord& record = segment.ring[ticket % abi::kRingSlots];
    // Pairs with the reader's release when it frees the slot.
    const uint64_t sequence = record.sequence.load(std::memory_order_acquire);
    const auto ahead = static_cast<int64_t>(sequence - ticket);
    if (ahead < 0) return nullptr;
    if (ahead == 0 && tail.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed))
      return &record;
    if (ahead > 0) ticket = tail.load(std::memory_order_relaxed);
  }
  return nullptr;
}

// The same without a locked instruction.
inline abi::LaunchRecord* next_slot(abi::Segment& segment, uint64_t& ticket) {
  std::atomic<uint64_t>& tail = segment.ring_control.tail;
  ticket = tail.load(std::memory_order_relaxed);
  abi::LaunchRecord& record = segment.ring[ticket % abi::kRingSlots];
  // Pairs with the reader's release when it frees the slot.
  if (record.sequence.load(std::memory_order_acquire) != ticket) return nullptr;
  tail.store(ticket + 1, std::memory_order_relaxed);
  return &record;
}

// Atomic (relaxed, ordered by `sequence`) since a late writer of a skipped ticket or a forging
// tenant may write at the same time.
inline void store_word(uint64_t& word, uint64_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
}  // namespace detail

[[gnu::always_inline]] inline bool push_launch(abi::Segment& segment, const LaunchWords& words,
                                               bool alone) {
  uint64_t ticket = 0;
  abi::LaunchRecord* const record =
      alone ? detail::next_slot(segment, ticket) : detail::claim_slot(segment, ticket);
  if (record == nullptr) return false;
  uint64_t* const payload = &record->submit_ns;
  detail::store_word(payload[0], words.submit_ns);
  detail::store_word(payload[1], words.kernel_id);
  detail::store_word(payload[2], words.stream_cost_ns);
  detail::store_word(payload[3], words.blocks_or_bytes);
  detail::store_word(payload[4], words.slot_cost);
  detail::store_word(payload[5], words.wait_smem);
  detail::store_word(payload[6], words.shape);
  record->sequence.store(ticket + 1, std::memory_order_release);  // pairs with step()
  return true;
}

inline void expect_launch(abi::Segment& segment) {
  const uint64_t ticket =
      segment.ring_control.tail.load(std::memory_order_relaxed) + detail::kFetchAhead;
  const abi::LaunchRecord* record = &segment.ring[ticket % abi::kRingSlots];
#if defined(__x86_64__)
  // The compiler's builtin would fetch it for reading unless told the processor's model.
  __asm__ volatile("prefetchw %0" : : "m"(record->sequence));
#else
  __builtin_prefetch(record, 1);
#endif
}

}  // namespace gacer::shm
