// SPDX-License-Identifier: Apache-2.0
// The streams of one attachment and their slots in its segment.
//
// A stream is known by a key: its handle, or for the default streams a number made of context (and
// thread), as each context has its own legacy default stream and each thread its own per-thread
// one. Looking up is lock-free; adding and dropping take a lock. A slot's counters are never set
// back, so that a late write of the GPU for a former stream stays below them.
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

// Unlike that of any other living thread of this process.
inline uint64_t this_thread_number() {
  [[gnu::tls_model("initial-exec")]] static thread_local char marker = 0;
  return reinterpret_cast<uint64_t>(&marker);
}

inline bool is_default_stream(CUstream handle) {
  return handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
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
  StreamRef stream{};
  CUcontext context = nullptr;
  std::atomic<uint32_t> counting_epoch{0};  // in which submitted_cost_ns was last made to agree
  std::atomic<uint32_t> unmarked_launches{0};
  SpinLock mark_lock;  // orders marks of one stream; guards `events`
  EventQueue events;
};

class StreamTable {
 public:
  static constexpr int kNone = -1;

  explicit constexpr StreamTable(abi::Segment& segment) : segment_(segment) {}

  int find(uint64_t key) const;
  // kNone: all slots are taken.
  int find_or_add(uint64_t key, StreamRef stream, CUcontext context);
  void drop(uint64_t key);
  void drop_slot(int slot);

  StreamState& state(int slot) { return states_[slot]; }
  abi::StreamSlot& slot(int slot) { return segment_.streams[slot]; }
  // Bit i: slot i is in use.
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  const std::atomic<uint64_t>& used_word() const { return used_; }

 private:
  static constexpr uint32_t kBuckets = 256;
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kErased = 1;
  struct Bucket {
    std::atomic<uint64_t> key{kFree};
    std::atomic<int> slot{kNone};
  };

  int take_slot();
  int choose_slot(uint64_t used) const;
  void free_bucket(Bucket& bucket);
  void insert(uint64_t key, int slot);

  abi::Segment& segment_;
  std::atomic<uint64_t> used_{0};
  SpinLock lock_;
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
