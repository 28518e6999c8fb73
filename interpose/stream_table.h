// SPDX-License-Identifier: Apache-2.0
// The streams of one attachment and their slots in its segment.
//
// A stream is known by a key: its handle, or for the default streams a number made of context (and
// thread), as each context has its own legacy default stream and each thread its own per-thread
// one. Looking up is lock-free; adding and dropping take a lock. A slot's counters are never set
// back, so that a late write of the GPU for a former stream stays below them.
//
// When slots run short, those of ended threads' streams and then those of streams without work in
// flight are taken back: their streams get one again at their next launch. When all are busy, the
// others share kSharedSlot, where completion is reported by events, in order of submission: late
// for some of them, never early.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/cuda_api.h"
#include "interpose/flat_map.h"
#include "interpose/spin_lock.h"
#include "runtime/abi/segment_layout.h"

namespace gacer::interpose {

// A stream as the program named it.
struct StreamRef {
  CUstream handle;
  bool null_is_per_thread;  // called through a _ptsz entry point
};

// Asks the driver for the current context where the stream is a default stream. 0: there is none.
inline uint64_t stream_key(StreamRef stream);
uint64_t default_stream_key(StreamRef stream);

// Handles are user-space addresses, so numbers with this bit are free for default streams.
inline constexpr uint64_t kDefaultStreamBit = 1ULL << 63;
inline bool is_default_stream_key(uint64_t key) {
  return (key & kDefaultStreamBit) != 0;
}

namespace detail {
extern std::atomic<uint64_t> thread_count;
[[gnu::tls_model("initial-exec")]] inline thread_local uint64_t thread_number = 0;
}  // namespace detail

// Unlike that of any other thread that this process has or had; never 0.
inline uint64_t this_thread_number() {
  if (detail::thread_number == 0) [[unlikely]]
    detail::thread_number = detail::thread_count.fetch_add(1, std::memory_order_relaxed) + 1;
  return detail::thread_number;
}

inline bool is_default_stream(CUstream handle) {
  return handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

inline bool is_legacy_stream(StreamRef stream) {
  return stream.handle == CU_STREAM_LEGACY ||
         (stream.handle == nullptr && !stream.null_is_per_thread);
}

// Completion events of one stream, where the GPU cannot write the progress word itself.
struct EventQueue {
  static constexpr uint32_t kCapacity = 16;
  struct Entry {
    CUevent event = nullptr;  // kept for reuse
    uint64_t cost_ns = 0;     // completed_cost_ns once the event has happened
  };
  Entry entries[kCapacity];
  uint32_t first = 0;
  uint32_t count = 0;
};

struct StreamState {
  StreamRef stream{};  // guarded by mark_lock
  std::atomic<CUcontext> context{nullptr};
  std::atomic<int> thread_id{0};            // of a per-thread default stream: its thread
  std::atomic<uint32_t> counting_epoch{0};  // in which submitted_cost_ns was last made to agree
  std::atomic<uint32_t> unmarked_launches{0};
  SpinLock mark_lock;  // orders marks of one stream; guards `events`
  EventQueue events;
};

class StreamTable {
 public:
  static constexpr int kNone = -1;
  static constexpr int kSharedSlot = abi::kStreamSlots - 1;

  explicit constexpr StreamTable(abi::Segment& segment) : segment_(segment) {}

  int find(uint64_t key) const;
  // kNone: `key` is 0. kSharedSlot: all others are busy.
  int find_or_add(uint64_t key, StreamRef stream, CUcontext context);
  void drop(uint64_t key);
  void drop_slot(int slot);

  // True: the slot is this stream's own, as it was when found.
  bool is_owner(uint32_t slot, uint64_t key) const {
    return owners_[slot].load(std::memory_order_relaxed) == key;
  }
  // Settles and frees the slots of per-thread default streams whose threads have ended.
  void free_ended_threads();

  StreamState& state(int slot) { return states_[slot]; }
  abi::StreamSlot& slot(int slot) { return segment_.streams[slot]; }
  // Bit i: slot i is in use.
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  // Bit i: slot i may have work in flight; see Gate.
  std::atomic<uint64_t>& busy_word() { return busy_; }
  bool sharing() const { return (used() & kSharedBit) != 0; }

 private:
  static constexpr uint32_t kBuckets = 256;
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kErased = 1;
  static constexpr uint64_t kSharedBit = 1ULL << kSharedSlot;
  struct Bucket {
    std::atomic<uint64_t> key{kFree};
    std::atomic<int> slot{kNone};
  };

  static void describe(StreamState& state, StreamRef stream, CUcontext context);
  int take_slot();
  int choose_free_slot() const;
  int take_back_idle_slot();
  bool is_idle(int slot);
  void free_ended_threads_locked();
  int share_slot(uint64_t key);
  Bucket* bucket_of(uint64_t key);
  bool insert(uint64_t key, int slot);
  void erase(Bucket& bucket);
  void set_used(uint64_t used);

  abi::Segment& segment_;
  alignas(64) std::atomic<uint64_t> busy_{0};
  alignas(64) std::atomic<uint64_t> used_{0};
  SpinLock lock_;
  uint32_t sharers_ = 0;      // streams in the table with kSharedSlot
  uint32_t next_victim_ = 0;  // where the search for an idle slot goes on
  std::atomic<uint64_t> owners_[abi::kStreamSlots] = {};  // key of each slot; 0: free or shared
  Bucket buckets_[kBuckets];
  StreamState states_[abi::kStreamSlots];
};

inline uint64_t stream_key(StreamRef stream) {
  return is_default_stream(stream.handle) ? default_stream_key(stream)
                                          : reinterpret_cast<uint64_t>(stream.handle);
}

inline int StreamTable::find(uint64_t key) const {
  const uint64_t start = mix_bits(key);
  for (uint32_t i = 0; i < kBuckets; ++i) {
    const Bucket& bucket = buckets_[(start + i) % kBuckets];
    const uint64_t found = bucket.key.load(std::memory_order_acquire);  // pairs with insert()
    if (found == key) return bucket.slot.load(std::memory_order_relaxed);
    if (found == kFree) return kNone;
  }
  return kNone;
}

}  // namespace gacer::interpose
