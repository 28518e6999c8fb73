// SPDX-License-Identifier: Apache-2.0
// The life of one launch inside the tenant.
//
//   lone_launch()      nothing is asked of this tenant: one acquire load, one counter, straight on
//   through_gate()     admit -> the driver's call -> account
//     admit            attach if due; stream slot, kernel, cost; the gate, which may wait
//     account          charge the stream, record, mark; a launch that failed in the driver charges
//     nothing
//
// Nothing here allocates, formats or takes an unbounded wait. Thread-safe.
#pragma once

#include <cstdint>

#include "interpose/attachment.h"
#include "interpose/gate.h"
#include "interpose/hook_scope.h"
#include "interpose/kernel_registry.h"
#include "interpose/launch_cache.h"
#include "interpose/shim.h"
#include "interpose/stream_table.h"
#include "runtime/abi/coverage.h"

namespace gacer::interpose {

struct LaunchRequest {  // no initialisers: on the launch path every member is set anyway
  abi::LaunchKind kind;
  abi::CoveredFunction function;  // kernel, graph
  StreamRef stream;
  LaunchKey key;    // kernel: all but `stream`, which admit() fills in; graph: the handle alone
  uint64_t bytes;   // copy, memset
  bool never_held;  // cooperative, cluster
};

// What admit() found and account() needs. Without an attachment there is nothing to account, and
// nothing else is set.
struct Admission {
  Attachment* attachment = nullptr;
  uint32_t cost_ns;
  uint32_t mark_every;  // 0: costs are not counted now
  bool record;
  KnownLaunch known;
  Passage passage;
  uint64_t submit_ns;
};

// True: the launch has been counted and may go to the driver at once, which is loaded. False:
// through_gate(). Written so that an entry point is a handful of instructions and two jumps: no
// argument is touched.
inline bool lone_launch() {
  FastPath& fast = gacer_fast_path;
  abi::Segment* segment =
      fast.segment.load(std::memory_order_acquire);  // pairs with Session::publish()
  if (segment == nullptr) return false;
  // Pairs with the daemon's release add: words read at this number are still the ones in force.
  const uint64_t seq = segment->gate.gate_seq.load(std::memory_order_acquire);
  if (seq != fast.lone_seq.load(std::memory_order_relaxed)) return false;
  std::atomic<uint64_t>& launches = segment->progress.launches;
  // The daemon's liveness is due to be looked at.
  if (launches.load(std::memory_order_relaxed) >= fast.next_check.load(std::memory_order_relaxed))
    return false;
  launches.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void admit(const HookScope& proof, LaunchRequest& request, Admission& admission);
void account(const HookScope& proof, const LaunchRequest& request, const Admission& admission,
             CUresult result);

// Runs `call` (the driver's own function with the program's own arguments) when the gate lets it;
// its result is returned unchanged.
template <typename Call>
CUresult through_gate(LaunchRequest& request, const Call& call) {
  const HookScope scope;
  if (!scope.outermost()) return call();
  Admission admission;
  admit(scope, request, admission);
  const CUresult result = call();
  if (admission.attachment != nullptr) account(scope, request, admission, result);
  return result;
}

}  // namespace gacer::interpose
