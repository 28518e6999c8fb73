// SPDX-License-Identifier: Apache-2.0
#include "interpose/stream_table.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>

#include "interpose/driver.h"
#include "interpose/flat_map.h"

namespace gacer::interpose {

namespace detail {
constinit std::atomic<uint64_t> thread_count{0};
}

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

bool is_per_thread(StreamRef stream) {
  return stream.handle == CU_STREAM_PER_THREAD ||
         (stream.handle == nullptr && stream.null_is_per_thread);
}

int this_thread_id() {
  return static_cast<int>(syscall(SYS_gettid));
}

// A number that another thread has got meanwhile keeps the slot until that one ends too.
bool thread_has_ended(int thread_id) {
  const int saved = errno;
  const bool gone = syscall(SYS_tgkill, getpid(), thread_id, 0) != 0 && errno == ESRCH;
  errno = saved;
  return gone;
}

bool nothing_in_flight(const abi::StreamSlot& words) {
  return words.completed_cost_ns.load(kRelaxed) == words.submitted_cost_ns.load(kRelaxed);
}

}  // namespace

uint64_t default_stream_key(StreamRef stream) {
  CUcontext context = nullptr;
  if (driver().cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return 0;
  const uint64_t thread = is_per_thread(stream) ? this_thread_number() : 0;
  return mix_bits(reinterpret_cast<uint64_t>(context) ^ mix_bits(thread)) | kDefaultStreamBit;
}

void StreamTable::describe(StreamState& state, StreamRef stream, CUcontext context) {
  const SpinGuard guard(state.mark_lock);
  state.stream = stream;
  state.unmarked_launches.store(0, kRelaxed);
  state.context.store(context, kRelaxed);
  state.thread_id.store(is_per_thread(stream) ? this_thread_id() : 0, kRelaxed);
}

int StreamTable::find_or_add(uint64_t key, StreamRef stream, CUcontext context) {
  const int known = find(key);
  if ((known != kNone && known != kSharedSlot) || key == 0) return known;
  const SpinGuard guard(lock_);
  const int raced = find(key);
  if (raced != kNone && raced != kSharedSlot) return raced;
  const int slot = take_slot();
  if (slot == kNone) return share_slot(key);
  if (raced == kSharedSlot) erase(*bucket_of(key));
  if (!insert(key, slot)) return share_slot(key);
  describe(states_[slot], stream, context);
  owners_[slot].store(key, kRelaxed);
  set_used(used() | 1ULL << slot);
  return slot;
}

// Caller holds lock_, here and below. kNone: all are busy.
int StreamTable::take_slot() {
  int slot = choose_free_slot();
  if (slot != kNone) return slot;
  free_ended_threads_locked();
  slot = choose_free_slot();
  return slot != kNone ? slot : take_back_idle_slot();
}

// A former stream's last write may be under way on a free slot; one without such is better.
int StreamTable::choose_free_slot() const {
  const uint64_t unused = ~(used() | kSharedBit);
  for (uint64_t left = unused; left != 0; left &= left - 1)
    if (nothing_in_flight(segment_.streams[std::countr_zero(left)])) return std::countr_zero(left);
  return unused == 0 ? kNone : std::countr_zero(unused);
}

// Not while a mark is being made or an event is to be polled: these belong to the slot's stream.
bool StreamTable::is_idle(int slot) {
  StreamState& state = states_[slot];
  if (!nothing_in_flight(segment_.streams[slot]) || !state.mark_lock.try_lock()) return false;
  const bool idle = state.events.count == 0;
  state.mark_lock.unlock();
  return idle;
}

int StreamTable::take_back_idle_slot() {
  for (int tried = 0; tried < kSharedSlot; ++tried) {
    const int slot = static_cast<int>(next_victim_++ % kSharedSlot);
    if (!is_idle(slot)) continue;
    if (Bucket* bucket = bucket_of(owners_[slot].load(kRelaxed))) erase(*bucket);
    return slot;
  }
  return kNone;
}

void StreamTable::free_ended_threads_locked() {
  for (uint64_t left = used() & ~kSharedBit; left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    StreamState& state = states_[slot];
    const int thread_id = state.thread_id.load(kRelaxed);
    if (thread_id == 0 || !thread_has_ended(thread_id)) continue;
    if (!state.mark_lock.try_lock()) continue;
    // Nobody can mark the rest of its work, or wait for it by its stream, any more.
    abi::StreamSlot& words = segment_.streams[slot];
    const uint64_t submitted = words.submitted_cost_ns.load(kRelaxed);
    words.marked_cost_ns.store(submitted, kRelaxed);
    words.completed_cost_ns.store(submitted, kRelaxed);
    state.events.first = state.events.count = 0;
    state.mark_lock.unlock();
    if (Bucket* bucket = bucket_of(owners_[slot].load(kRelaxed))) erase(*bucket);
  }
}

void StreamTable::free_ended_threads() {
  const SpinGuard guard(lock_);
  free_ended_threads_locked();
}

int StreamTable::share_slot(uint64_t key) {
  set_used(used() | kSharedBit);
  if (bucket_of(key) == nullptr && insert(key, kSharedSlot)) ++sharers_;
  return kSharedSlot;
}

StreamTable::Bucket* StreamTable::bucket_of(uint64_t key) {
  const uint64_t start = mix_bits(key);
  for (uint32_t i = 0; i < kBuckets; ++i) {
    Bucket& bucket = buckets_[(start + i) % kBuckets];
    const uint64_t found = bucket.key.load(kRelaxed);
    if (found == kFree) return nullptr;
    if (found == key) return &bucket;
  }
  return nullptr;
}

// False: the table is full, which takes 256 streams.
bool StreamTable::insert(uint64_t key, int slot) {
  const uint64_t start = mix_bits(key);
  for (uint32_t i = 0; i < kBuckets; ++i) {
    Bucket& bucket = buckets_[(start + i) % kBuckets];
    const uint64_t found = bucket.key.load(kRelaxed);
    if (found != kFree && found != kErased) continue;
    bucket.slot.store(slot, kRelaxed);
    bucket.key.store(key, std::memory_order_release);  // pairs with find()
    return true;
  }
  return false;
}

void StreamTable::erase(Bucket& bucket) {
  bucket.key.store(kErased, kRelaxed);
  const int slot = bucket.slot.load(kRelaxed);
  if (slot == kSharedSlot && --sharers_ > 0) return;
  owners_[slot].store(0, kRelaxed);
  set_used(used() & ~(1ULL << slot));
}

void StreamTable::set_used(uint64_t used) {
  const uint64_t changed = used ^ this->used();
  for (uint64_t left = changed; left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    segment_.streams[slot].in_use.store((used >> slot) & 1, kRelaxed);
  }
  used_.store(used, kRelaxed);
  busy_.fetch_and(used, kRelaxed);
  segment_.progress.live_streams.store(static_cast<uint32_t>(std::popcount(used)), kRelaxed);
}

void StreamTable::drop(uint64_t key) {
  const SpinGuard guard(lock_);
  if (Bucket* bucket = bucket_of(key)) erase(*bucket);
}

void StreamTable::drop_slot(int slot) {
  const SpinGuard guard(lock_);
  for (Bucket& bucket : buckets_) {
    const uint64_t key = bucket.key.load(kRelaxed);
    if (key > kErased && bucket.slot.load(kRelaxed) == slot) erase(bucket);
  }
  if (slot == kSharedSlot) set_used(used() & ~kSharedBit);
}

}  // namespace gacer::interpose
