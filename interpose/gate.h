// SPDX-License-Identifier: Apache-2.0
// Whether one launch may go, by the words that the daemon writes into this tenant's segment; and
// the wait.
//
//   ungated, detached, unknown mode: go
//   window: go while in flight + cost <= window, or nothing is in flight (a launch larger than the
//   window runs alone) closed: wait until the mode changes
//
// In flight = sum over busy stream slots of (submitted - completed) + what other threads have been
// let through and not yet submitted (`reserved_ns`). A wait spins briefly, then sleeps on gate_seq,
// and always ends: by permission, by the deadline (counted), or since the daemon is gone.
// Thread-safe.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "runtime/abi/segment_layout.h"

namespace gacer::interpose {

inline constexpr uint64_t kSpinNs = 20'000;
inline constexpr uint64_t kWindowSleepNs =
    100'000;  // completions are memory writes: nobody wakes us
inline constexpr uint64_t kClosedSleepNs = 20'000'000;  // between looks at the daemon's socket
// With room for this many launches like itself one goes without reserving, which threads would
// contend for: n threads may exceed the window by n parts of this many.
inline constexpr uint64_t kRoomyCosts = 64;
inline constexpr uint64_t kLongestWaitNs = 10'000'000'000;  // whatever the daemon asks for

// What a waiting thread needs from outside; replaced in tests.
class GateEnvironment {
 public:
  virtual uint64_t now_ns() = 0;  // CLOCK_MONOTONIC
  virtual bool daemon_gone() = 0;
  // Turns finished completion events into completed_cost_ns.
  virtual void poll_completions() = 0;
  // Returns when `word` no longer holds `expected`, at `until_ns`, or earlier for no reason.
  virtual void sleep(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t until_ns) = 0;

 protected:
  ~GateEnvironment() = default;
};

struct Passage {
  uint64_t wait_ns = 0;
  abi::Reason reason = abi::Reason::kNone;  // of the wait; kDeadline, kDaemonGone: how it ended
  bool reserved = false;                    // the cost is in reserved_ns until give_back()
};

class Gate {
 public:
  // `alone`: no other thread launches, so that nothing needs to be reserved.
  // `busy_slots`: bit i is set by mark_busy() with the first work on stream slot i, and cleared
  // here when all of it has completed, so that idle streams cost nothing.
  Gate(abi::Segment& segment, std::atomic<uint64_t>& busy_slots, std::atomic<uint64_t>& reserved_ns,
       bool alone = false)
      : segment_(segment), busy_slots_(busy_slots), reserved_ns_(reserved_ns), alone_(alone) {}

  // Returns when a launch of this cost may go. Waits are entered in the progress words.
  Passage pass(uint64_t cost_ns, GateEnvironment& environment);
  // The two halves of pass(). False: wait.
  bool try_pass(uint64_t cost_ns, bool& reserved);
  void wait(uint64_t cost_ns, Passage& passage, GateEnvironment& environment);
  // After the launch has been submitted, or has failed.
  static void give_back(std::atomic<uint64_t>& reserved_ns, bool reserved, uint64_t cost_ns);

  // Of this process, without reservations.
  uint64_t in_flight_ns();
  // After work has been added, sequentially consistent, to the slot's submitted cost.
  static void mark_busy(std::atomic<uint64_t>& busy_slots, uint32_t slot);

 private:
  bool try_window(uint64_t cost_ns, bool& reserved);
  uint64_t in_flight_of(uint32_t slot) const;
  void forget_idle(uint32_t slot);
  abi::Reason hold_reason() const;
  void sleep_once(uint32_t seen_seq, uint64_t now_ns, uint64_t deadline_ns,
                  GateEnvironment& environment);
  void account(const Passage& passage, abi::Reason held_for);

  abi::Segment& segment_;
  std::atomic<uint64_t>& busy_slots_;
  std::atomic<uint64_t>& reserved_ns_;
  const bool alone_;
};

// Inline: on the path of every regulated launch.

inline uint64_t Gate::in_flight_of(uint32_t slot) const {
  const abi::StreamSlot& words = segment_.streams[slot];
  // Completed first: read the other way round, work submitted and finished in between would look
  // negative.
  const uint64_t completed = words.completed_cost_ns.load(std::memory_order_relaxed);
  const uint64_t submitted = words.submitted_cost_ns.load(std::memory_order_relaxed);
  return submitted > completed ? submitted - completed : 0;
}

inline uint64_t Gate::in_flight_ns() {
  uint64_t sum = 0;
  for (uint64_t left = busy_slots_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t in_flight = in_flight_of(slot);
    if (in_flight == 0) forget_idle(slot);
    sum += in_flight;
  }
  return sum;
}

// Clear, then look again, here; add, then look whether it is set, in mark_busy(). All four are
// sequentially consistent: either this sees the work or that sees the cleared bit.
inline void Gate::forget_idle(uint32_t slot) {
  const uint64_t bit = 1ULL << slot;
  const abi::StreamSlot& words = segment_.streams[slot];
  busy_slots_.fetch_and(~bit, std::memory_order_seq_cst);
  if (words.submitted_cost_ns.load(std::memory_order_seq_cst) >
      words.completed_cost_ns.load(std::memory_order_relaxed))
    busy_slots_.fetch_or(bit, std::memory_order_relaxed);
}

inline void Gate::mark_busy(std::atomic<uint64_t>& busy_slots, uint32_t slot) {
  const uint64_t bit = 1ULL << slot;
  if ((busy_slots.load(std::memory_order_seq_cst) & bit) == 0) [[unlikely]]
    busy_slots.fetch_or(bit, std::memory_order_relaxed);
}

inline bool Gate::try_window(uint64_t cost_ns, bool& reserved) {
  const uint64_t window_ns = segment_.gate.window_ns.load(std::memory_order_relaxed);
  uint64_t reserved_ns = reserved_ns_.load(std::memory_order_relaxed);
  do {
    const uint64_t in_flight = in_flight_ns() + reserved_ns;
    if (in_flight != 0 && in_flight + cost_ns > window_ns) return false;
    if (alone_ || in_flight + cost_ns * kRoomyCosts <= window_ns) return true;
  } while (!reserved_ns_.compare_exchange_weak(reserved_ns, reserved_ns + cost_ns,
                                               std::memory_order_relaxed));
  reserved = true;
  return true;
}

inline bool Gate::try_pass(uint64_t cost_ns, bool& reserved) {
  switch (static_cast<abi::GateMode>(segment_.gate.mode.load(std::memory_order_relaxed))) {
    case abi::GateMode::kClosed:
      return false;
    case abi::GateMode::kWindow:
      return try_window(cost_ns, reserved);
    default:
      return true;
  }
}

inline void Gate::give_back(std::atomic<uint64_t>& reserved_ns, bool reserved, uint64_t cost_ns) {
  if (reserved) reserved_ns.fetch_sub(cost_ns, std::memory_order_relaxed);
}

inline Passage Gate::pass(uint64_t cost_ns, GateEnvironment& environment) {
  Passage passage;
  if (!try_pass(cost_ns, passage.reserved)) wait(cost_ns, passage, environment);
  return passage;
}

}  // namespace gacer::interpose
