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
#include "interpose/shim.h"
#include "interpose/stream_table.h"

namespace gacer::interpose {

struct LaunchRequest {
  abi::LaunchKind kind = abi::LaunchKind::kKernel;
  StreamRef stream;
  uint64_t handle = 0;      // kernel: CUfunction or CUkernel; graph: CUgraphExec
  LaunchShape shape;        // kernel: without its KernelFacts
  uint64_t bytes = 0;       // copy, memset
  bool never_held = false;  // cooperative, cluster
};

// What admit() found and account() needs. Without an attachment there is nothing to account.
struct Admission {
  Attachment* attachment = nullptr;
  Passage passage;
  int slot = StreamTable::kNone;
  uint32_t cost_ns = 0;
  uint32_t cost_slot = abi::kNoCostSlot;
  uint32_t mark_every = 0;  // 0: costs are not counted now
  bool record = false;
  uint64_t kernel_id = 0;
  uint64_t submit_ns = 0;
  const KernelFacts* kernel = nullptr;
  KernelResources resources;
};

// False: take through_gate(). True: the launch has been counted and may go to the driver at once.
inline bool lone_launch() {
  FastPath& fast = shim().session.fast_path();
  abi::Segment* segment =
      fast.segment.load(std::memory_order_acquire);  // pairs with Session::publish()
  if (segment == nullptr) return false;
  // Pairs with the daemon's release add: words read at this number are still the ones in force.
  const uint64_t seq = segment->gate.gate_seq.load(std::memory_order_acquire);
  if (seq != fast.lone_seq.load(std::memory_order_relaxed)) return false;
  const uint64_t launches = segment->progress.launches.fetch_add(1, std::memory_order_relaxed);
  if (launches >= fast.next_check.load(std::memory_order_relaxed)) [[unlikely]]
    check_daemon_of_lone_launch(launches);
  return true;
}

void admit(const HookScope& proof, const LaunchRequest& request, Admission& admission);
void account(const HookScope& proof, const LaunchRequest& request, const Admission& admission,
             CUresult result);

// Runs `call` (the driver's own function with the program's own arguments) when the gate lets it;
// its result is returned unchanged.
template <typename Call>
CUresult through_gate(const LaunchRequest& request, const Call& call) {
  const HookScope scope;
  if (!scope.outermost()) return call();
  Admission admission;
  admit(scope, request, admission);
  const CUresult result = call();
  if (admission.attachment != nullptr) account(scope, request, admission, result);
  return result;
}

}  // namespace gacer::interpose
