// SPDX-License-Identifier: Apache-2.0
#include "interpose/completion.h"

#include <bit>
#include <cstddef>

#include "interpose/capture_tracker.h"
#include "interpose/driver.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

CompletionWay register_segment(Attachment& attachment) {
  const DriverTable& real = driver();
  constexpr unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
  const CUresult registered =
      real.cuMemHostRegister_v2(&attachment.segment, gpu_visible_bytes(), flags);
  if (registered != CUDA_SUCCESS && registered != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    return CompletionWay::kEvents;
  CUdeviceptr address = 0;
  if (real.cuMemHostGetDevicePointer_v2(&address, &attachment.segment, 0) != CUDA_SUCCESS ||
      address == 0)
    return CompletionWay::kEvents;
  attachment.device_base.store(address, kRelaxed);
  return CompletionWay::kStreamWrite;
}

CompletionWay completion_way(Attachment& attachment) {
  // Pairs with the release below: device_base is there.
  CompletionWay way = attachment.way.load(std::memory_order_acquire);
  if (way != CompletionWay::kUnknown) return way;
  const SpinGuard guard(attachment.registration_lock);
  way = attachment.way.load(kRelaxed);
  if (way != CompletionWay::kUnknown) return way;
  way = register_segment(attachment);
  attachment.way.store(way, std::memory_order_release);  // pairs with the acquire above
  return way;
}

bool write_by_stream(Attachment& attachment, StreamRef stream, int slot, uint64_t cost_ns) {
  // Streams that share a word would write it in whatever order they finish.
  if (slot == StreamTable::kSharedSlot) return false;
  if (completion_way(attachment) != CompletionWay::kStreamWrite) return false;
  const CUdeviceptr word = attachment.device_base.load(kRelaxed) + offsetof(abi::Segment, streams) +
                           static_cast<size_t>(slot) * sizeof(abi::StreamSlot) +
                           offsetof(abi::StreamSlot, completed_cost_ns);
  const DriverTable& real = driver();
  auto* write =
      stream.null_is_per_thread ? real.cuStreamWriteValue64_v2_ptsz : real.cuStreamWriteValue64_v2;
  if (write(stream.handle, word, cost_ns, CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS)
    return true;
  attachment.way.store(CompletionWay::kEvents,
                       std::memory_order_release);  // pairs with completion_way()
  return false;
}

// Caller holds mark_lock.
bool record_event(StreamState& state, StreamRef stream, uint64_t cost_ns) {
  EventQueue& queue = state.events;
  if (queue.count == EventQueue::kCapacity) return false;
  EventQueue::Entry& entry = queue.entries[(queue.first + queue.count) % EventQueue::kCapacity];
  const DriverTable& real = driver();
  if (entry.event == nullptr &&
      real.cuEventCreate(&entry.event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    return false;
  auto* record = stream.null_is_per_thread ? real.cuEventRecord_ptsz : real.cuEventRecord;
  if (record(entry.event, stream.handle) != CUDA_SUCCESS) return false;
  entry.cost_ns = cost_ns;
  ++queue.count;
  return true;
}

// Caller holds mark_lock. An event that can no longer be asked (its context is gone) counts as
// happened.
void poll_queue(StreamState& state, abi::StreamSlot& slot) {
  EventQueue& queue = state.events;
  while (queue.count > 0) {
    const EventQueue::Entry& oldest = queue.entries[queue.first];
    if (driver().cuEventQuery(oldest.event) == CUDA_ERROR_NOT_READY) return;
    slot.completed_cost_ns.store(oldest.cost_ns, kRelaxed);
    queue.first = (queue.first + 1) % EventQueue::kCapacity;
    --queue.count;
  }
}

// Caller holds mark_lock.
bool issue_mark(Attachment& attachment, StreamRef stream, int index, uint64_t cost_ns) {
  if (write_by_stream(attachment, stream, index, cost_ns)) return true;
  StreamState& state = attachment.streams.state(index);
  abi::StreamSlot& slot = attachment.streams.slot(index);
  poll_queue(state, slot);
  if (record_event(state, stream, cost_ns)) return true;
  // Events under way will be followed by a later mark. With none there is no way to learn of
  // completion.
  if (state.events.count > 0) return false;
  slot.completed_cost_ns.store(cost_ns, kRelaxed);
  return true;
}

bool has_tail(const abi::StreamSlot& slot) {
  return slot.submitted_cost_ns.load(kRelaxed) != slot.marked_cost_ns.load(kRelaxed);
}

// `alive`: their context is.
void drop_events(StreamState& state, bool alive) {
  for (EventQueue::Entry& entry : state.events.entries) {
    if (alive && entry.event != nullptr) driver().cuEventDestroy_v2(entry.event);
    entry = {};
  }
  state.events.first = state.events.count = 0;
}

void settle(StreamState& state, abi::StreamSlot& slot, bool events_alive) {
  const SpinGuard guard(state.mark_lock);
  drop_events(state, events_alive);
  const uint64_t submitted = slot.submitted_cost_ns.load(kRelaxed);
  slot.marked_cost_ns.store(submitted, kRelaxed);
  slot.completed_cost_ns.store(submitted, kRelaxed);
}

// Caller holds mark_lock.
bool issue_mark_relaxed(Attachment& attachment, StreamRef stream, int index, uint64_t cost_ns) {
  const RelaxedCapture relaxed;
  return relaxed.allows() && issue_mark(attachment, stream, index, cost_ns);
}

// True: a mark is one stream-ordered call, which captures elsewhere do not forbid.
bool marks_by_write(const Attachment& attachment, int index) {
  return index != StreamTable::kSharedSlot &&
         attachment.way.load(kRelaxed) == CompletionWay::kStreamWrite;
}

}  // namespace

void mark_stream(Attachment& attachment, int index, StreamRef stream) {
  StreamState& state = attachment.streams.state(index);
  abi::StreamSlot& slot = attachment.streams.slot(index);
  if (!state.mark_lock.try_lock()) return;
  if (index != StreamTable::kSharedSlot) stream = state.stream;
  const uint64_t submitted = slot.submitted_cost_ns.load(kRelaxed);
  auto* const issue = marks_by_write(attachment, index) ? &issue_mark : &issue_mark_relaxed;
  // Asked with the lock held: a capture that is about to begin waits for it (let_marks_finish()).
  if (submitted != slot.marked_cost_ns.load(kRelaxed) && shim().captures.may_submit(stream) &&
      issue(attachment, stream, index, submitted))
    slot.marked_cost_ns.store(submitted, kRelaxed);
  state.mark_lock.unlock();
}

// On the shared slot every launch has its own event, if there was room; what had none follows here,
// on a stream that is known.
void mark_tail(Attachment& attachment, uint64_t key) {
  const int slot = attachment.streams.find(key);
  if (slot == StreamTable::kNone || !has_tail(attachment.streams.slot(slot))) return;
  if (slot == StreamTable::kSharedSlot && is_default_stream_key(key)) return;
  mark_stream(attachment, slot, {reinterpret_cast<CUstream>(key), false});
}

void mark_all_tails(Attachment& attachment, CUcontext context) {
  for (uint64_t left = attachment.streams.used(); left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    if (context != nullptr && attachment.streams.state(slot).context.load(kRelaxed) != context)
      continue;
    if (slot == StreamTable::kSharedSlot || !has_tail(attachment.streams.slot(slot))) continue;
    mark_stream(attachment, slot, {});
  }
}

uint64_t submitted_ns(const Attachment& attachment, int slot) {
  // Streams that share a slot are not done together.
  if (slot == StreamTable::kNone || slot == StreamTable::kSharedSlot) return 0;
  return attachment.segment.streams[slot].submitted_cost_ns.load(kRelaxed);
}

void report_finished(Attachment& attachment, int index, uint64_t submitted_ns) {
  StreamState& state = attachment.streams.state(index);
  abi::StreamSlot& slot = attachment.streams.slot(index);
  const SpinGuard guard(state.mark_lock);
  EventQueue& queue = state.events;
  for (; queue.count > 0 && queue.entries[queue.first].cost_ns <= submitted_ns; --queue.count)
    queue.first = (queue.first + 1) % EventQueue::kCapacity;
  if (slot.marked_cost_ns.load(kRelaxed) < submitted_ns)
    slot.marked_cost_ns.store(submitted_ns, kRelaxed);
  // A mark of a later launch may arrive meanwhile: never back behind it.
  uint64_t completed = slot.completed_cost_ns.load(kRelaxed);
  while (completed < submitted_ns &&
         !slot.completed_cost_ns.compare_exchange_weak(completed, submitted_ns, kRelaxed)) {
  }
}

void poll_events(Attachment& attachment) {
  if (!events_are_used(attachment)) return;
  for (uint64_t left = attachment.streams.used(); left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    StreamState& state = attachment.streams.state(slot);
    if (!state.mark_lock.try_lock()) continue;
    poll_queue(state, attachment.streams.slot(slot));
    state.mark_lock.unlock();
  }
}

void retire_stream(Attachment& attachment, uint64_t key) {
  const int slot = attachment.streams.find(key);
  if (slot == StreamTable::kNone) return;
  mark_tail(attachment, key);
  // A stream write reaches the word by itself; events are ours to poll, and their stream is about
  // to go.
  if (slot != StreamTable::kSharedSlot &&
      attachment.way.load(kRelaxed) != CompletionWay::kStreamWrite)
    settle(attachment.streams.state(slot), attachment.streams.slot(slot), true);
  attachment.streams.drop(key);
}

void abandon_streams(Attachment& attachment, CUcontext context) {
  for (uint64_t left = attachment.streams.used(); left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    StreamState& state = attachment.streams.state(slot);
    // The shared slot's streams may be of any context; what remains of it settles too.
    const bool shared = slot == StreamTable::kSharedSlot;
    if (context != nullptr && !shared && state.context.load(kRelaxed) != context) continue;
    settle(state, attachment.streams.slot(slot), false);
    attachment.streams.drop_slot(slot);
  }
  attachment.way.store(CompletionWay::kUnknown,
                       std::memory_order_release);  // pairs with completion_way()
}

}  // namespace gacer::interpose
