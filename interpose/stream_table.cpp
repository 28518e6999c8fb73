// SPDX-License-Identifier: Apache-2.0
#include "interpose/stream_table.h"

#include <bit>

#include "interpose/driver.h"
#include "interpose/flat_map.h"

namespace gacer::interpose {
namespace {

// Handles are user-space addresses, so numbers with this bit are free for default streams.
constexpr uint64_t kDefaultStreamBit = 1ULL << 63;

bool is_per_thread(StreamRef stream) {
  return stream.handle == CU_STREAM_PER_THREAD ||
         (stream.handle == nullptr && stream.null_is_per_thread);
}

}  // namespace

uint64_t default_stream_key(StreamRef stream) {
  CUcontext context = nullptr;
  if (driver().cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return 0;
  const uint64_t thread = is_per_thread(stream) ? this_thread_number() : 0;
  return mix_bits(reinterpret_cast<uint64_t>(context) ^ mix_bits(thread)) | kDefaultStreamBit;
}

int StreamTable::find_or_add(uint64_t key, StreamRef stream, CUcontext context) {
  const int known = find(key);
  if (known != kNone || key == 0) return known;
  const SpinGuard guard(lock_);
  const int raced = find(key);
  if (raced != kNone) return raced;
  const int slot = take_slot();
  if (slot == kNone) return kNone;
  states_[slot].stream = stream;
  states_[slot].context = context;
  insert(key, slot);
  return slot;
}

// A former stream's last write may be under way on a free slot; one without such is better.
int StreamTable::choose_slot(uint64_t used) const {
  for (uint64_t left = ~used; left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    const abi::StreamSlot& words = segment_.streams[slot];
    if (words.completed_cost_ns.load(std::memory_order_relaxed) ==
        words.submitted_cost_ns.load(std::memory_order_relaxed))
      return slot;
  }
  return used == UINT64_MAX ? kNone : std::countr_one(used);
}

int StreamTable::take_slot() {
  const uint64_t used = used_.load(std::memory_order_relaxed);
  const int slot = choose_slot(used);
  if (slot == kNone) return kNone;
  used_.store(used | (1ULL << slot), std::memory_order_relaxed);
  segment_.streams[slot].in_use.store(1, std::memory_order_relaxed);
  segment_.progress.live_streams.store(static_cast<uint32_t>(std::popcount(used) + 1),
                                       std::memory_order_relaxed);
  return slot;
}

void StreamTable::insert(uint64_t key, int slot) {
  const uint64_t start = mix_bits(key);
  for (uint32_t i = 0; i < kBuckets; ++i) {
    Bucket& bucket = buckets_[(start + i) % kBuckets];
    const uint64_t found = bucket.key.load(std::memory_order_relaxed);
    if (found != kFree && found != kErased) continue;
    bucket.slot.store(slot, std::memory_order_relaxed);
    bucket.key.store(key, std::memory_order_release);  // pairs with find()
    return;
  }
}

void StreamTable::free_bucket(Bucket& bucket) {
  bucket.key.store(kErased, std::memory_order_relaxed);
  const int slot = bucket.slot.load(std::memory_order_relaxed);
  segment_.streams[slot].in_use.store(0, std::memory_order_relaxed);
  const uint64_t used = used_.load(std::memory_order_relaxed) & ~(1ULL << slot);
  used_.store(used, std::memory_order_relaxed);
  segment_.progress.live_streams.store(static_cast<uint32_t>(std::popcount(used)),
                                       std::memory_order_relaxed);
}

void StreamTable::drop(uint64_t key) {
  const SpinGuard guard(lock_);
  const uint64_t start = mix_bits(key);
  for (uint32_t i = 0; i < kBuckets; ++i) {
    Bucket& bucket = buckets_[(start + i) % kBuckets];
    const uint64_t found = bucket.key.load(std::memory_order_relaxed);
    if (found == kFree) return;
    if (found == key) return free_bucket(bucket);
  }
}

void StreamTable::drop_slot(int slot) {
  const SpinGuard guard(lock_);
  for (Bucket& bucket : buckets_) {
    const uint64_t key = bucket.key.load(std::memory_order_relaxed);
    if (key > kErased && bucket.slot.load(std::memory_order_relaxed) == slot) free_bucket(bucket);
  }
}

}  // namespace gacer::interpose
