// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/kernel_cost.h"

#include <algorithm>

#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {
namespace {

constexpr double kSectorBytes = 32.0;
constexpr double kL1SectorsPerClock = 4.0;  // 128 bytes a clock, all architectures listed
constexpr double kChainUnits = 16.0;        // BlockCounters::chain
constexpr double kPartitions = 4.0;         // of an SM; a warp stays in one

uint64_t round_up(uint64_t value, uint64_t unit) {
  return unit == 0 ? value : (value + unit - 1) / unit * unit;
}

double real(uint64_t value) {
  return static_cast<double>(value);
}

double clock_ns(const DeviceModel& device) {
  return 1000.0 / static_cast<double>(device.spec.clock_mhz);
}

BlockAccesses accesses_of(const KernelShape& shape, const BlockCounters& sum, double blocks) {
  BlockAccesses out;
  out.first_read_bytes = real(sum.unique_bytes_read) / blocks;
  out.first_written_bytes = real(sum.unique_bytes_written) / blocks;
  // Counters made by hand may give only one of the two.
  out.read_bytes =
      std::max(out.first_read_bytes, real(sum.global_sectors_read) * kSectorBytes / blocks);
  out.written_bytes =
      std::max(out.first_written_bytes, real(sum.global_sectors_written) * kSectorBytes / blocks);
  out.atomic_bytes = real(sum.atomics) * kSectorBytes / blocks;
  for (size_t i = 0; i < kReuseBuckets; ++i) {
    const ReuseBucket& bucket = sum.reuse[i];
    const uint64_t sectors = bucket.read_sectors + bucket.written_sectors;
    if (sectors == 0) continue;
    out.again[i] = {real(bucket.distance) / real(sectors) * kSectorBytes,
                    real(bucket.read_sectors) * kSectorBytes / blocks,
                    real(bucket.written_sectors) * kSectorBytes / blocks};
  }
  out.grid_blocks = real(std::max<uint64_t>(shape.blocks, 1));
  const double all = out.first_bytes() * out.grid_blocks;
  out.grid_bytes = shape.footprint_bytes == 0 ? all : std::min(all, real(shape.footprint_bytes));
  return out;
}

// The longest warp, without its waiting for global loads: clocks.
double chain_clocks(const DeviceModel& device, const BlockCounters& sum, double longer) {
  double clocks = 0;
  for (size_t i = 0; i < kLatencyCount; ++i)
    if (static_cast<Latency>(i) != Latency::kGlobal)
      clocks += real(sum.chain[i]) / kChainUnits * device.latency_clocks[i];
  return clocks / real(sum.warps) * longer;
}

void set_chain(const DeviceModel& device, const BlockCounters& sum, CacheDependence& out) {
  double clocks = 0;
  if (sum.warps == 0 || sum.warp_instructions == 0) {
    clocks = real(sum.longest_warp_instructions) * kDependentIssueClocks;
    const double loads = real(sum.longest_warp_global_loads);
    out.load_rounds = loads > 0 ? std::max(1.0, loads / kLoadsInFlight) : 0.0;
  } else {
    const double mean = real(sum.warp_instructions) / real(sum.warps);
    const double longer = std::max(1.0, real(sum.longest_warp_instructions) / mean);
    clocks = chain_clocks(device, sum, longer);
    out.load_rounds = real(sum.chain[static_cast<size_t>(Latency::kGlobal)]) / kChainUnits /
                      real(sum.warps) * longer;
  }
  out.fixed_ns = kBlockOverheadNs + clocks * clock_ns(device) + real(sum.longest_warp_sleep_ns);
}

void set_pipes(const DeviceModel& device, const BlockCounters& sum, double blocks,
               CacheDependence& out) {
  const PipeRates& rate = device.pipes;
  auto& pipe_ns = out.without_memory.pipe_ns;
  const auto busy = [&](uint64_t count, double per_clock) {
    return real(count) / blocks / per_clock * clock_ns(device);
  };
  pipe_ns[kIssue] = busy(sum.warp_instructions, rate.issue);
  pipe_ns[kFp32] = busy(sum.fp32_warp, rate.fp32);
  pipe_ns[kInt32] = busy(sum.int_warp, rate.int32);
  pipe_ns[kSfu] = busy(sum.sfu_warp, rate.sfu);
  pipe_ns[kFp64] = busy(sum.fp64_warp, rate.fp64);
  pipe_ns[kTensor] = busy(sum.tensor_warp, rate.tensor);
  pipe_ns[kLoadStore] =
      std::max(busy(sum.memory_warp, rate.load_store) +
                   busy(std::max(sum.shared_beats, sum.shared_warp) - sum.shared_warp, 1.0),
               busy(sum.global_sectors_read + sum.global_sectors_written, kL1SectorsPerClock));
}

// A block of one to three warps leaves partitions of the SM idle.
void set_least(uint32_t warps, CacheDependence& out) {
  const auto& pipe_ns = out.without_memory.pipe_ns;
  const double used = std::min<double>(kPartitions, warps);
  out.least_ns =
      *std::max_element(pipe_ns.begin(), pipe_ns.begin() + kLoadStore) * kPartitions / used;
}

// As the only kernel on the device.
CacheSituation alone(const DeviceModel& device, const KernelCost& cost,
                     const CacheDependence& caches) {
  CacheSituation where;
  where.blocks_on_sm = caches.blocks_on_sm;
  where.l1_bytes =
      std::max(0.0, real(device.memory.l1_bytes) - caches.blocks_on_sm * cost.smem_bytes);
  where.blocks_on_device =
      std::min(caches.accesses.grid_blocks, caches.blocks_on_sm * device.spec.sm_count);
  where.l2_bytes = real(device.spec.l2_bytes);
  return where;
}

}  // namespace

void set_residency(const DeviceSpec& spec, const KernelShape& shape, KernelCost& cost) {
  cost.threads = static_cast<uint32_t>(round_up(std::max(shape.threads_per_block, 1U), 32));
  const uint64_t per_warp =
      round_up(uint64_t{std::max(shape.regs_per_thread, 1U)} * 32, spec.reg_alloc_unit_per_warp);
  cost.registers = static_cast<uint32_t>(per_warp * cost.warps());
  const uint64_t smem = uint64_t{shape.smem_bytes_per_block} + spec.smem_reserved_per_block_bytes;
  cost.smem_bytes = static_cast<uint32_t>(round_up(smem, spec.smem_alloc_granularity_bytes));
}

BlockCost cost_in(const DeviceModel& device, const CacheDependence& caches,
                  const CacheSituation& where) {
  const MemorySystem& memory = device.memory;
  const BlockTraffic traffic = block_traffic(caches.accesses, where);
  BlockCost cost = caches.without_memory;
  const double read_clocks = traffic.l2_read_bytes / memory.sm_read_bytes_per_clock;
  const double write_clocks = traffic.l2_written_bytes / memory.sm_write_bytes_per_clock;
  cost.pipe_ns[kL2] = std::max(read_clocks, write_clocks) * clock_ns(device);
  cost.l2_ns = (traffic.l2_read_bytes + 2.0 * traffic.l2_written_bytes) /
               memory.l2_bytes_per_clock * clock_ns(device);
  cost.dram_bytes = traffic.dram_bytes;
  const double past_l1 = memory.l2_latency_clocks * (1 - traffic.past_l2) +
                         memory.dram_latency_clocks * traffic.past_l2;
  const double load = memory.l1_latency_clocks * (1 - traffic.past_l1) + past_l1 * traffic.past_l1;
  const double waits_ns = caches.load_rounds * load * clock_ns(device);
  cost.alone_ns = std::max({BlockCost::kMinAloneNs, caches.fixed_ns + waits_ns, caches.least_ns});
  return cost;
}

KernelCost kernel_cost(const DeviceModel& device, const KernelShape& shape,
                       const BlockCounters& counters, uint64_t counted_blocks) {
  KernelCost cost;
  set_residency(device.spec, shape, cost);
  const double blocks = real(std::max<uint64_t>(counted_blocks, 1));
  auto caches = std::make_shared<CacheDependence>();
  caches->accesses = accesses_of(shape, counters, blocks);
  set_chain(device, counters, *caches);
  set_pipes(device, counters, blocks, *caches);
  set_least(cost.warps(), *caches);
  const uint64_t per_sm =
      (std::max<uint64_t>(shape.blocks, 1) + device.spec.sm_count - 1) / device.spec.sm_count;
  caches->blocks_on_sm =
      real(std::max<uint64_t>(1, std::min<uint64_t>(per_sm, blocks_per_sm(device.spec, cost))));
  const CacheSituation where = alone(device, cost, *caches);
  static_cast<BlockCost&>(cost) = cost_in(device, *caches, where);
  caches->on_l1 = caches->accesses.comes_back();
  caches->on_l2 = caches->on_l1 || caches->accesses.is_shared();
  caches->bytes_per_ns = caches->accesses.all_bytes() / cost.alone_ns;
  if (caches->accesses.all_bytes() > 0) cost.caches = std::move(caches);
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
