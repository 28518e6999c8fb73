// SPDX-License-Identifier: Apache-2.0
// The cost of a kernel that is known only from a trace: how long it took alone and what it was.
#pragma once

#include "runtime/simdevice/engine/kernel_cost.h"

namespace gacer::simdevice {

struct TracedKernel {
  double duration_ns = 0;  // alone on this device
  KernelShape shape;       // as traced
  // Shares of the reachable DRAM bandwidth, and of the SMs' issue slots, that it uses meanwhile.
  double dram_fraction = 0;
  double issue_fraction = 0;
};

// Reproduces the duration when nothing else runs; with less than the whole device, or with others,
// the engine's rules apply. Blocks are taken to be alike, waves to last equally long.
KernelCost traced_cost(const DeviceModel& device, const TracedKernel& kernel);

// A shape of `sms` blocks that fill an SM each, for traces that only say how many SMs are needed.
KernelShape shape_of_sms(const DeviceSpec& spec, uint64_t sms);

}  // namespace gacer::simdevice
