// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/sm_share.h"

#include <algorithm>

namespace gacer::regulator {
namespace {

constexpr uint64_t kWarpThreads = 32;
constexpr uint64_t kRegAllocUnitPerWarp = 256;

uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// How often `need` fits; what needs nothing or meets an unknown limit does not limit.
uint64_t fits(uint64_t limit, uint64_t need) {
  return limit == 0 || need == 0 ? UINT64_MAX : limit / need;
}

uint64_t blocks_per_sm(const DeviceShape& device, const LaunchEvent& launch) {
  const uint64_t threads = round_up(launch.block_threads, kWarpThreads);
  const uint64_t warps = threads / kWarpThreads;
  const uint64_t regs =
      round_up(uint64_t{launch.regs_per_thread} * kWarpThreads, kRegAllocUnitPerWarp) * warps;
  const uint64_t blocks =
      std::min({fits(device.threads_per_sm, threads), fits(device.regs_per_sm, regs),
                fits(device.smem_per_sm_bytes, launch.smem_bytes), fits(device.blocks_per_sm, 1)});
  return std::max<uint64_t>(blocks, 1);  // it runs, so one fits
}

}  // namespace

double sm_share(const DeviceShape& device, const LaunchEvent& launch) {
  if (device.sm_count == 0 || launch.block_threads == 0 || launch.blocks == 0) return 1.0;
  const uint64_t per_sm = blocks_per_sm(device, launch);
  const uint64_t sms = (launch.blocks - 1) / per_sm + 1;
  return sms >= device.sm_count ? 1.0 : static_cast<double>(sms) / device.sm_count;
}

}  // namespace gacer::regulator
