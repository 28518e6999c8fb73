// SPDX-License-Identifier: Apache-2.0
// All state of the shim in this process: one constant-initialised object, never destroyed. Nothing
// in it runs before the program's first driver call.
#pragma once

#include "interpose/capture_tracker.h"
#include "interpose/graph_costs.h"
#include "interpose/kernel_registry.h"
#include "interpose/memory_graphs.h"
#include "interpose/memory_ledger.h"
#include "interpose/memory_overhead.h"
#include "interpose/memory_pools.h"
#include "interpose/memory_vmm.h"
#include "interpose/session.h"
#include "interpose/stream_priorities.h"

namespace gacer::interpose {

struct Shim {
  Session session;
  KernelRegistry kernels;
  CaptureTracker captures;
  GraphCosts graphs{kernels};
  StreamPriorities priorities;
  MemoryLedger memory{session};
  MemoryPools pools{memory};
  MemoryVmm vmm{memory};
  MemoryGraphs graph_memory{memory};
  MemoryOverhead overhead{memory};
};

namespace detail {
extern Shim the_shim;
}

inline Shim& shim() {
  return detail::the_shim;
}

// Attaches if due; installs the fork handler on the way. NULL: detached.
Attachment* attach_if_due();
inline Attachment* attached() {
  Attachment* attachment = shim().session.current();
  return attachment != nullptr ? attachment : attach_if_due();
}

}  // namespace gacer::interpose
