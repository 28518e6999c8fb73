// SPDX-License-Identifier: Apache-2.0
// Counts launches and allocations that reach the driver unregulated, by function and stream kind;
// what `gacer status --coverage` shows. Call it attached or not: what is counted while detached is
// kept and shown after the next attach. Thread-safe, never blocks for long; not for the path of
// regulated launches.
#pragma once

#include "interpose/stream_table.h"
#include "runtime/abi/coverage.h"

namespace gacer::interpose {

struct Attachment;

void count_unregulated(abi::CoveredFunction function, abi::CoverageStream stream);
void count_unregulated(abi::CoveredFunction function, StreamRef stream, bool capturing);

// Functions that the shim has no hook for, though their names say that they launch or allocate:
// those of a newer driver. Other names are ignored.
//   forwarded: called through a forwarder, whose counter `calls` stays valid for good
//   handed out: a lookup gave the driver's own pointer to the program; its calls are not seen
void note_forwarded_function(const char* name, const uint64_t* calls);
void note_handed_out_function(const char* name);

// Moves what was counted while detached into a new attachment's segment. Before it is published.
void move_coverage_to(Attachment& attachment);
// Copies the forwarders' counters. Cheap when there are none; call it now and then.
void refresh_coverage(Attachment& attachment);
// In a fork child: its parent's counts are not its own.
void reset_coverage();

}  // namespace gacer::interpose
