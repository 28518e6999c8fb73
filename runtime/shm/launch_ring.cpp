// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/launch_ring.h"

#include <array>
#include <bit>
#include <cstddef>

namespace gacer::shm {
namespace {

using abi::kRingSlots;
using abi::LaunchRecord;

constexpr size_t kPayloadOffset = offsetof(LaunchRecord, submit_ns);
constexpr size_t kPayloadWords = sizeof(LaunchEntry) / sizeof(uint64_t);
using Payload = std::array<uint64_t, kPayloadWords>;

static_assert(std::endian::native == std::endian::little);  // LaunchWords packs by shifts
static_assert(sizeof(LaunchWords) == sizeof(LaunchEntry));
static_assert(sizeof(LaunchEntry) == sizeof(LaunchRecord) - kPayloadOffset);
static_assert(offsetof(LaunchRecord, cost_slot) - kPayloadOffset ==
              offsetof(LaunchEntry, cost_slot));
static_assert(offsetof(LaunchRecord, smem_bytes) - kPayloadOffset ==
              offsetof(LaunchEntry, smem_bytes));
static_assert(offsetof(LaunchRecord, block_threads) - kPayloadOffset ==
              offsetof(LaunchEntry, block_threads));
static_assert(offsetof(LaunchRecord, flags) - kPayloadOffset == offsetof(LaunchEntry, flags));

uint64_t* payload_of(LaunchRecord& record) {
  return &record.submit_ns;
}

// Word-wise: see store_word().
void load_payload(LaunchRecord& record, LaunchEntry& entry) {
  Payload words;
  for (size_t i = 0; i < kPayloadWords; ++i)
    words[i] = __atomic_load_n(payload_of(record) + i, __ATOMIC_RELAXED);
  entry = std::bit_cast<LaunchEntry>(words);
}

}  // namespace

void format_ring(abi::Segment& segment, uint64_t first_ticket) {
  for (uint64_t i = 0; i < kRingSlots; ++i) {
    const uint64_t ticket = first_ticket + i;
    // Pairs with the acquire in push_launch.
    segment.ring[ticket % kRingSlots].sequence.store(ticket, std::memory_order_release);
  }
}

bool push_launch(abi::Segment& segment, const LaunchEntry& entry) {
  return push_launch(segment, std::bit_cast<LaunchWords>(entry));
}

bool LaunchRingReader::pop(LaunchEntry& entry, uint64_t now_ns) {
  for (uint32_t i = 0; i < kRingSlots && !closed(); ++i) {
    const Step result = step(entry, now_ns);
    if (result != Step::kRetry) return result == Step::kRecord;
  }
  return false;
}

LaunchRingReader::Step LaunchRingReader::step(LaunchEntry& entry, uint64_t now_ns) {
  const uint64_t sequence = slot().sequence.load(std::memory_order_acquire);  // push_launch
  if (sequence == head_ + 1) {
    take(entry);
    return Step::kRecord;
  }
  const uint64_t tail = segment_->ring_control.tail.load(std::memory_order_relaxed);
  if (tail - head_ > kRingSlots) {
    start_over(tail);
    return Step::kRetry;
  }
  return unpublished(sequence, tail != head_, now_ns);
}

LaunchRingReader::Step LaunchRingReader::unpublished(uint64_t sequence, bool claimed,
                                                     uint64_t now_ns) {
  const bool impossible = sequence != head_ && sequence != head_ + 1;
  if (!claimed) {
    // A late publication left a foreign number here; producers would take it for "full" for ever.
    if (impossible) slot().sequence.store(head_, std::memory_order_release);  // push_launch
    stalled_since_ns_ = 0;
    return Step::kEmpty;
  }
  if (stalled_since_ns_ == 0) stalled_since_ns_ = now_ns;
  if (!impossible && now_ns - stalled_since_ns_ < kRingStallNs) return Step::kEmpty;
  ++skipped_;
  free_slot();
  return Step::kRetry;
}

void LaunchRingReader::take(LaunchEntry& entry) {
  load_payload(slot(), entry);
  free_slot();
}

void LaunchRingReader::free_slot() {
  slot().sequence.store(head_ + kRingSlots, std::memory_order_release);  // pairs with push_launch
  ++head_;
  stalled_since_ns_ = 0;
  segment_->ring_control.head.store(head_, std::memory_order_relaxed);
}

void LaunchRingReader::start_over(uint64_t tail) {
  ++resyncs_;
  head_ = tail;
  stalled_since_ns_ = 0;
  format_ring(*segment_, tail);
  segment_->ring_control.head.store(head_, std::memory_order_relaxed);
}

}  // namespace gacer::shm
