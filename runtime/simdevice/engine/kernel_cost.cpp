// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/kernel_cost.h"

#include <algorithm>

#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {
namespace {

constexpr double kSectorBytes = 32.0;
constexpr double kL1SectorsPerClock = 4.0;  // 128 bytes a clock, all architectures listed

uint64_t round_up(uint64_t value, uint64_t unit) {
  return unit == 0 ? value : (value + unit - 1) / unit * unit;
}

void set_residency(const DeviceSpec& spec, const KernelShape& shape, KernelCost& cost) {
  cost.threads = static_cast<uint32_t>(round_up(std::max(shape.threads_per_block, 1U), 32));
  const uint64_t per_warp =
      round_up(uint64_t{std::max(shape.regs_per_thread, 1U)} * 32, spec.reg_alloc_unit_per_warp);
  cost.registers = static_cast<uint32_t>(per_warp * cost.warps());
  const uint64_t smem = uint64_t{shape.smem_bytes_per_block} + spec.smem_reserved_per_block_bytes;
  cost.smem_bytes = static_cast<uint32_t>(round_up(smem, spec.smem_alloc_granularity_bytes));
}

struct Traffic {
  double l2_bytes = 0;    // of one block, what passes L1
  double dram_bytes = 0;  // of one block, what passes L2
};

// L1 catches what a block reads twice. Of what passes, the grid's footprint comes from DRAM once;
// the rest, reads of the same bytes by several blocks, hits L2 for as much of the footprint as
// fits.
Traffic traffic(const DeviceSpec& spec, const KernelShape& shape, const BlockCounters& sum,
                double blocks) {
  Traffic result;
  result.l2_bytes = (static_cast<double>(sum.unique_bytes_read + sum.unique_bytes_written) +
                     static_cast<double>(sum.atomics) * kSectorBytes) /
                    blocks;
  const double unique =
      static_cast<double>(sum.unique_bytes_read + sum.unique_bytes_written) / blocks;
  const double all = unique * static_cast<double>(shape.blocks);
  const double limit = static_cast<double>(shape.footprint_bytes);
  const double footprint = shape.footprint_bytes == 0 ? all : std::min(all, limit);
  if (footprint <= 0) return result;
  const double missing = std::max(0.0, 1.0 - static_cast<double>(spec.l2_bytes) / footprint);
  const double dram = footprint + (all - footprint) * missing;
  result.dram_bytes = dram / static_cast<double>(std::max<uint64_t>(shape.blocks, 1));
  return result;
}

double mean_load_clocks(const PipeRates& pipes, const BlockCounters& sum, const Traffic& bytes,
                        double blocks) {
  const double sectors = static_cast<double>(sum.global_sectors_read) * kSectorBytes / blocks;
  if (sectors <= 0) return kL1LatencyClocks;
  const double past_l1 =
      std::min(1.0, static_cast<double>(sum.unique_bytes_read) / blocks / sectors);
  const double past_l2 =
      bytes.l2_bytes > 0 ? std::min(1.0, bytes.dram_bytes / bytes.l2_bytes) : 0.0;
  const double beyond =
      pipes.l2_latency_clocks * (1 - past_l2) + pipes.dram_latency_clocks * past_l2;
  return kL1LatencyClocks * (1 - past_l1) + beyond * past_l1;
}

}  // namespace

KernelCost kernel_cost(const DeviceModel& device, const KernelShape& shape,
                       const BlockCounters& counters, uint64_t counted_blocks) {
  KernelCost cost;
  set_residency(device.spec, shape, cost);
  const double blocks = static_cast<double>(std::max<uint64_t>(counted_blocks, 1));
  const double clock_ns = 1000.0 / static_cast<double>(device.spec.clock_mhz);
  const PipeRates& rate = device.pipes;
  const Traffic bytes = traffic(device.spec, shape, counters, blocks);
  const auto busy = [&](uint64_t count, double per_clock) {
    return static_cast<double>(count) / blocks / per_clock * clock_ns;
  };
  cost.pipe_ns[kIssue] = busy(counters.warp_instructions, rate.issue);
  cost.pipe_ns[kFp32] = busy(counters.fp32_warp, rate.fp32);
  cost.pipe_ns[kInt32] = busy(counters.int_warp, rate.int32);
  cost.pipe_ns[kSfu] = busy(counters.sfu_warp, rate.sfu);
  cost.pipe_ns[kFp64] = busy(counters.fp64_warp, rate.fp64);
  cost.pipe_ns[kTensor] = busy(counters.tensor_warp, rate.tensor);
  cost.pipe_ns[kLoadStore] = std::max(
      busy(counters.memory_warp, rate.load_store),
      busy(counters.global_sectors_read + counters.global_sectors_written, kL1SectorsPerClock));
  cost.pipe_ns[kL2] = bytes.l2_bytes / rate.l2_bytes_per_clock * clock_ns;
  cost.dram_bytes = bytes.dram_bytes;

  const double loads = static_cast<double>(counters.longest_warp_global_loads);
  const double waits = loads > 0 ? std::max(1.0, loads / kLoadsInFlight) : 0.0;
  const double chain =
      static_cast<double>(counters.longest_warp_instructions) * kDependentIssueClocks +
      waits * mean_load_clocks(rate, counters, bytes, blocks);
  cost.alone_ns = std::max(KernelCost::kMinAloneNs, kBlockOverheadNs + chain * clock_ns);
  return cost;
}

uint32_t blocks_per_sm(const DeviceSpec& spec, const KernelCost& cost) {
  uint32_t fit = spec.blocks_per_sm;
  fit = std::min(fit, spec.threads_per_sm / std::max(cost.threads, 1U));
  if (cost.registers > 0) fit = std::min(fit, spec.regs_per_sm / cost.registers);
  if (cost.smem_bytes > 0) fit = std::min(fit, spec.smem_per_sm_bytes / cost.smem_bytes);
  return fit;
}

}  // namespace gacer::simdevice
