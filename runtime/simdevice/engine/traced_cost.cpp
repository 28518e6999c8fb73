// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/traced_cost.h"

#include <algorithm>
#include <cmath>

#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {
namespace {

constexpr double kMostDram = 0.98;

// What must be asked of DRAM so that `share` of it is served in spite of queues.
double demand_for(double share) {
  if (share <= 0) return 0;
  return share / std::pow(1.0 - std::pow(share, kDramSaturation), 1.0 / kDramSaturation);
}

}  // namespace

KernelShape shape_of_sms(const DeviceSpec& spec, uint64_t sms) {
  KernelShape shape;
  shape.threads_per_block = spec.threads_per_sm;
  shape.blocks = std::max<uint64_t>(sms, 1);
  return shape;
}

KernelCost traced_cost(const DeviceModel& device, const TracedKernel& kernel) {
  KernelCost cost;
  set_residency(device.spec, kernel.shape, cost);
  const double blocks = static_cast<double>(std::max<uint64_t>(kernel.shape.blocks, 1));
  const double sms = device.spec.sm_count;
  const double room = std::max(1U, blocks_per_sm(device.spec, cost));
  const double waves = std::ceil(blocks / (room * sms));
  const double on_sm = std::min(room, std::ceil(blocks / sms));
  const double block_ns = std::max(BlockCost::kMinAloneNs, kernel.duration_ns / waves);
  cost.alone_ns = block_ns;
  cost.pipe_ns[kIssue] = std::clamp(kernel.issue_fraction, 0.0, 1.0) * block_ns / on_sm;
  const double share = std::clamp(kernel.dram_fraction, 0.0, kMostDram);
  if (share > 0) {
    const double capacity = device.spec.dram_bytes_per_ns * device.memory.dram_efficiency;
    cost.dram_bytes = share * capacity * kernel.duration_ns / blocks;
    cost.alone_ns = std::max(BlockCost::kMinAloneNs, block_ns * share / demand_for(share));
    cost.pipe_ns[kIssue] = std::min(cost.pipe_ns[kIssue], cost.alone_ns / on_sm);
  }
  return cost;
}

}  // namespace gacer::simdevice
