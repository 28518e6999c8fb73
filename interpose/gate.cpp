// SPDX-License-Identifier: Apache-2.0
#include "interpose/gate.h"

#include <algorithm>

namespace gacer::interpose {
namespace {

using abi::GateMode;
using abi::Reason;
constexpr auto kRelaxed = std::memory_order_relaxed;

void pause_briefly() {
#if defined(__x86_64__)
  for (int i = 0; i < 4; ++i) __builtin_ia32_pause();
#endif
}

}  // namespace

Reason Gate::hold_reason() const {
  const auto mode = static_cast<GateMode>(segment_.gate.mode.load(kRelaxed));
  if (mode != GateMode::kClosed) return Reason::kWindowFull;
  const uint32_t told = segment_.gate.reason.load(kRelaxed);
  return told != 0 && told < abi::kReasonCount ? static_cast<Reason>(told) : Reason::kLatencyActive;
}

void Gate::wait(uint64_t cost_ns, Passage& passage, GateEnvironment& environment) {
  const uint64_t start_ns = environment.now_ns();
  const uint64_t bound_ns = std::min(segment_.gate.max_wait_ns.load(kRelaxed), kLongestWaitNs);
  const Reason held_for = hold_reason();
  passage.reason = held_for;
  for (uint64_t now_ns = start_ns;; now_ns = environment.now_ns()) {
    passage.wait_ns = now_ns - start_ns;
    const uint32_t seq =
        segment_.gate.gate_seq.load(std::memory_order_acquire);  // the daemon's release add
    if (try_pass(cost_ns, passage.reserved)) break;
    if (passage.wait_ns >= bound_ns) {
      passage.reason = Reason::kDeadline;
      break;
    }
    if (passage.wait_ns < kSpinNs) {
      pause_briefly();
      continue;
    }
    if (environment.daemon_gone()) {
      passage.reason = Reason::kDaemonGone;
      break;
    }
    environment.poll_completions();
    sleep_once(seq, now_ns, start_ns + bound_ns, environment);
  }
  account(passage, held_for);
}

void Gate::sleep_once(uint32_t seen_seq, uint64_t now_ns, uint64_t deadline_ns,
                      GateEnvironment& environment) {
  const bool window = segment_.gate.mode.load(kRelaxed) == static_cast<uint32_t>(GateMode::kWindow);
  const uint64_t until_ns =
      std::min(deadline_ns, now_ns + (window ? kWindowSleepNs : kClosedSleepNs));
  // seq_cst on both sides: either the daemon sees us waiting after its add, or the futex sees its
  // new number.
  segment_.progress.waiting_threads.fetch_add(1, std::memory_order_seq_cst);
  environment.sleep(segment_.gate.gate_seq, seen_seq, until_ns);
  segment_.progress.waiting_threads.fetch_sub(1, std::memory_order_seq_cst);
}

void Gate::account(const Passage& passage, Reason held_for) {
  abi::ProgressWords& progress = segment_.progress;
  progress.waits.fetch_add(1, kRelaxed);
  progress.wait_ns.fetch_add(passage.wait_ns, kRelaxed);
  progress.wait_ns_by_reason[static_cast<uint32_t>(held_for)].fetch_add(passage.wait_ns, kRelaxed);
  if (passage.reason == Reason::kDeadline) progress.deadline_releases.fetch_add(1, kRelaxed);
}

}  // namespace gacer::interpose
