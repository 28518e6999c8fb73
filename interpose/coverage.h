// SPDX-License-Identifier: Apache-2.0
// Counts launches and allocations that reach the driver unregulated, by function and stream kind;
// what `gacer status --coverage` shows. Thread-safe; not for the path of regulated launches.
#pragma once

#include "interpose/stream_table.h"
#include "runtime/abi/coverage.h"

namespace gacer::interpose {

void count_unregulated(abi::CoveredFunction function, abi::CoverageStream stream);
void count_unregulated(abi::CoveredFunction function, StreamRef stream, bool capturing);

}  // namespace gacer::interpose
