// SPDX-License-Identifier: Apache-2.0
// One streaming multiprocessor: which blocks are resident, how fast they progress, when the next
// ones end.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/simdevice/engine/kernel_cost.h"
#include "runtime/simdevice/engine/sm_mask.h"

namespace gacer::simdevice {

inline constexpr uint64_t kNever = UINT64_MAX;

// A kernel that is being dispatched or runs.
struct KernelRun {
  uint64_t op = 0;
  uint32_t client = 0;
  int32_t priority = 0;  // lower number first
  uint64_t arrival = 0;  // order among equals
  KernelCost cost;
  SmMask sms;
  uint32_t usable_sms = 1;
  CacheRivals on_l2;  // other kernels
  // The last situation asked for.
  CacheSituation known_situation;
  BlockCost known_cost;
  bool situation_known = false;
  uint64_t blocks_pending = 0;
  uint64_t blocks_running = 0;
  uint64_t first_block_ns = kNever;
  bool offered_all_sms = false;  // since then only SMs that freed room can take a block of it
};

// Blocks of one kernel that were placed on one SM at one moment; they progress and end together.
struct BlockGroup {
  KernelRun* run = nullptr;
  uint32_t blocks = 0;
  double remaining = 1.0;  // of a block
  double rate = 0;         // blocks per ns
  BlockCost cost;          // as things are on this SM
};

// What device-wide resources leave to each SM.
struct SmLimits {
  double dram_bytes_per_ns = std::numeric_limits<double>::infinity();
  double l2 = std::numeric_limits<double>::infinity();  // share of its time
};

struct SmUsage {
  uint32_t threads = 0;
  uint32_t registers = 0;
  uint32_t smem_bytes = 0;
  uint32_t blocks = 0;
};

class Sm {
 public:
  // How many more such blocks fit.
  uint32_t room_for(const DeviceSpec& spec, const KernelCost& cost) const;
  void place(KernelRun& run, uint32_t blocks, uint64_t now_ns);

  // Moves progress to now_ns at the current rates.
  void advance(uint64_t now_ns);
  // Sets rates so that no pipe is overcommitted and DRAM and L2 traffic stay within the limits
  // (infinity: none). Needs advance(now_ns) before.
  void set_rates(const DeviceModel& device, uint64_t now_ns, const SmLimits& limits);
  // Takes out the groups that have ended by now_ns. Returns whether any did.
  bool retire(uint64_t now_ns);
  void remove_client(uint32_t client);
  // The time since the last advance() counts for nothing: blocks stood still.
  void resume(uint64_t now_ns) { updated_ns_ = now_ns; }

  uint64_t next_end_ns() const { return next_end_ns_; }
  // DRAM traffic if nothing held it back, set by set_rates: bytes per ns.
  double dram_demand() const { return dram_demand_; }
  // The same for L2: share of its time.
  double l2_demand() const { return l2_demand_; }
  const SmLimits& limits() const { return limits_; }
  const SmUsage& usage() const { return usage_; }
  const std::vector<BlockGroup>& groups() const { return groups_; }
  uint32_t threads_of(uint32_t client) const;
  bool dirty = false;  // blocks came or went since set_rates

 private:
  void limit_pipes();
  void limit_pipe(unsigned pipe);
  std::array<double, kPipeCount> pipe_loads() const;
  void find_costs(const DeviceModel& device);
  void find_cost(const DeviceModel& device, BlockGroup& group);
  CacheSituation situation_of(const DeviceModel& device, const BlockGroup& group) const;
  void limit_memory();
  void measure_demands();
  void schedule_end(uint64_t now_ns);
  void release(const BlockGroup& group);

  std::vector<BlockGroup> groups_;
  SmUsage usage_;
  uint64_t updated_ns_ = 0;
  uint64_t next_end_ns_ = kNever;
  double dram_demand_ = 0;
  double l2_demand_ = 0;
  SmLimits limits_;
};

}  // namespace gacer::simdevice
