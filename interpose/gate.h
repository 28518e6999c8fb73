// SPDX-License-Identifier: Apache-2.0
// Whether one launch may go, by the words that the daemon writes into this tenant's segment; and
// the wait.
//
//   ungated, detached, unknown mode: go
//   window: go while in flight + cost <= window, or nothing is in flight (a launch larger than the
//   window runs alone) closed: wait until the mode changes
//
// In flight = sum over used stream slots of (submitted - completed) + what other threads have been
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
inline constexpr uint64_t kClosedSleepNs = 20'000'000;      // between looks at the daemon's socket
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
  Gate(abi::Segment& segment, const std::atomic<uint64_t>& used_slots,
       std::atomic<uint64_t>& reserved_ns, bool alone = false)
      : segment_(segment), used_slots_(used_slots), reserved_ns_(reserved_ns), alone_(alone) {}

  // Returns when a launch of this cost may go. Waits are entered in the progress words.
  Passage pass(uint64_t cost_ns, GateEnvironment& environment);
  // After the launch has been submitted, or has failed.
  void give_back(const Passage& passage, uint64_t cost_ns);

  // Of this process, without reservations.
  uint64_t in_flight_ns() const;

 private:
  bool try_pass(uint64_t cost_ns, Passage& passage);
  bool try_window(uint64_t cost_ns, Passage& passage);
  abi::Reason hold_reason() const;
  void wait(uint64_t cost_ns, Passage& passage, GateEnvironment& environment);
  void sleep_once(uint32_t seen_seq, uint64_t now_ns, uint64_t deadline_ns,
                  GateEnvironment& environment);
  void account(const Passage& passage, abi::Reason held_for);

  abi::Segment& segment_;
  const std::atomic<uint64_t>& used_slots_;
  std::atomic<uint64_t>& reserved_ns_;
  const bool alone_;
};

// Inline: on the path of every regulated launch.

inline uint64_t Gate::in_flight_ns() const {
  uint64_t sum = 0;
  for (uint64_t left = used_slots_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const abi::StreamSlot& slot = segment_.streams[std::countr_zero(left)];
    // Completed first: read the other way round, work submitted and finished in between would look
    // negative.
    const uint64_t completed = slot.completed_cost_ns.load(std::memory_order_relaxed);
    const uint64_t submitted = slot.submitted_cost_ns.load(std::memory_order_relaxed);
    if (submitted > completed) sum += submitted - completed;
  }
  return sum;
}

inline bool Gate::try_window(uint64_t cost_ns, Passage& passage) {
  const uint64_t window_ns = segment_.gate.window_ns.load(std::memory_order_relaxed);
  uint64_t reserved_ns = reserved_ns_.load(std::memory_order_relaxed);
  do {
    const uint64_t in_flight = in_flight_ns() + reserved_ns;
    if (in_flight != 0 && in_flight + cost_ns > window_ns) return false;
    if (alone_) return true;
  } while (!reserved_ns_.compare_exchange_weak(reserved_ns, reserved_ns + cost_ns,
                                               std::memory_order_relaxed));
  passage.reserved = true;
  return true;
}

inline bool Gate::try_pass(uint64_t cost_ns, Passage& passage) {
  switch (static_cast<abi::GateMode>(segment_.gate.mode.load(std::memory_order_relaxed))) {
    case abi::GateMode::kClosed:
      return false;
    case abi::GateMode::kWindow:
      return try_window(cost_ns, passage);
    default:
      return true;
  }
}

inline void Gate::give_back(const Passage& passage, uint64_t cost_ns) {
  if (passage.reserved) reserved_ns_.fetch_sub(cost_ns, std::memory_order_relaxed);
}

inline Passage Gate::pass(uint64_t cost_ns, GateEnvironment& environment) {
  Passage passage;
  if (!try_pass(cost_ns, passage)) wait(cost_ns, passage, environment);
  return passage;
}

}  // namespace gacer::interpose
