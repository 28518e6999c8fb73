// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/occupancy.h"

#include <algorithm>

namespace gacer::simdriver {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kPartitions = 4;  // warp schedulers, each with a quarter of the registers

uint64_t round_up(uint64_t value, uint64_t unit) {
  return unit == 0 ? value : (value + unit - 1) / unit * unit;
}

uint32_t warps_by_registers(const DeviceSpec& spec, uint32_t regs_per_thread) {
  const uint64_t per_warp =
      round_up(uint64_t{regs_per_thread} * kWarp, spec.reg_alloc_unit_per_warp);
  return per_warp == 0
             ? UINT32_MAX
             : static_cast<uint32_t>(spec.regs_per_sm / kPartitions / per_warp * kPartitions);
}

}  // namespace

uint32_t blocks_per_sm(const DeviceSpec& spec, const BlockNeeds& needs) {
  if (needs.threads == 0) return 0;
  const uint32_t warps = (needs.threads + kWarp - 1) / kWarp;
  const uint32_t by_threads = spec.threads_per_sm / kWarp / warps;
  const uint32_t by_registers = warps_by_registers(spec, needs.regs_per_thread) / warps;
  uint32_t blocks = std::min({spec.blocks_per_sm, by_threads, by_registers});
  const uint64_t smem = round_up(needs.smem_bytes + spec.smem_reserved_per_block_bytes,
                                 spec.smem_alloc_granularity_bytes);
  if (smem > 0)
    blocks = static_cast<uint32_t>(std::min<uint64_t>(blocks, spec.smem_per_sm_bytes / smem));
  return blocks;
}

uint64_t available_smem_bytes(const DeviceSpec& spec, uint32_t blocks, uint64_t static_smem_bytes) {
  if (blocks == 0 || blocks > spec.blocks_per_sm) return 0;
  const uint64_t unit = std::max<uint64_t>(1, spec.smem_alloc_granularity_bytes);
  const uint64_t share = spec.smem_per_sm_bytes / blocks / unit * unit;
  const uint64_t taken = static_smem_bytes + spec.smem_reserved_per_block_bytes;
  if (share <= taken) return 0;
  return std::min<uint64_t>(share - taken, spec.smem_per_block_optin_bytes - static_smem_bytes);
}

}  // namespace gacer::simdriver
