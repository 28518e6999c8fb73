// SPDX-License-Identifier: Apache-2.0
// One running block: its warps, shared memory, barriers, counters and first fault.
// Warps run round-robin; a warp goes on until it ends, waits at a barrier or its time slice is
// over.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/program.h"
#include "runtime/simdevice/exec/traffic.h"

namespace gacer::simdevice {

class Warp;

// Kernel parameters have generic addresses too; they share the shared window, above any shared
// memory.
inline constexpr uint64_t kParamWindow = kSharedWindow + 0x8000'0000ULL;
inline constexpr uint64_t kWindowBytes = 0x1'0000'0000ULL;

// What is the same for all blocks of a launch.
struct LaunchContext {
  const ProgramCode* code = nullptr;
  const FunctionCode* kernel = nullptr;
  const KernelInfo* info = nullptr;
  const uint8_t* pool = nullptr;
  LaunchShape shape;
  const uint8_t* params = nullptr;
  const AddressSpace* memory = nullptr;
  LaunchClock clock;
  uint64_t budget = 0;
};

class BlockRun {
 public:
  BlockRun();
  ~BlockRun();
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  Fault run(const LaunchContext& launch, uint64_t block_linear, BlockCounters& counters);

  const LaunchContext& launch() const { return *launch_; }
  const std::array<uint32_t, 3>& coords() const { return coords_; }
  std::vector<uint8_t>& shared() { return shared_; }
  uint64_t shared_bytes() const { return shared_bytes_; }
  TrafficMeter& traffic() { return traffic_; }
  const MemoryRegion*& region_hint() { return region_hint_; }
  uint64_t issued_so_far() const { return issued_; }

  // Counts one execution of a basic block. False: the budget is spent.
  bool count(const FunctionCode& fn, uint32_t block, uint32_t mask) {
    Tally& tally = tallies_[fn.first_counter + block];
    ++tally.runs;
    tally.lanes += mask == ~0u ? kLanes : static_cast<uint64_t>(__builtin_popcount(mask));
    issued_ += fn.blocks[block].issued;
    return issued_ <= budget_;
  }

  // Keeps the first fault. Returns false for `return fail(...)`.
  bool fail(FaultKind kind, const std::string& message);
  bool failed() const { return fault_.kind != FaultKind::kNone; }
  // "kernel K, block (1,0,0), thread (3,0,0)"
  std::string where(uint32_t linear_thread) const;

  struct Arrival {
    uint32_t barrier = 0;
    uint32_t lanes = 0;     // that arrive
    uint32_t expected = 0;  // 0: all live threads
    uint32_t votes = 0;     // lanes whose predicate holds
  };
  // True: that completed the barrier, and all who waited are released.
  bool arrive(const Arrival& arrival);
  void threads_ended(uint32_t lanes);
  // Result of the barrier's last completion.
  uint32_t barrier_votes(uint32_t barrier) const { return barriers_[barrier].released_votes; }
  uint32_t barrier_lanes(uint32_t barrier) const { return barriers_[barrier].released_lanes; }

 private:
  struct Tally {
    uint64_t runs = 0, lanes = 0;
  };
  struct Barrier {
    uint32_t arrived = 0, expected = 0, votes = 0;
    uint32_t released_votes = 0, released_lanes = 0;
  };

  void prepare(const LaunchContext& launch, uint64_t block_linear);
  void run_warps();
  bool complete(uint32_t index);
  void collect(BlockCounters& counters) const;
  void add_pipes(const PipeCounts& pipes, uint64_t runs, BlockCounters& counters) const;

  const LaunchContext* launch_ = nullptr;
  std::array<uint32_t, 3> coords_{};
  std::vector<uint8_t> shared_;
  uint64_t shared_bytes_ = 0;
  std::array<Barrier, 16> barriers_{};
  uint32_t live_threads_ = 0;
  std::vector<std::unique_ptr<Warp>> warps_;
  uint32_t warp_count_ = 0;
  TrafficMeter traffic_;
  const MemoryRegion* region_hint_ = nullptr;
  std::vector<Tally> tallies_;
  uint64_t issued_ = 0;
  uint64_t budget_ = 0;
  Fault fault_;
};

}  // namespace gacer::simdevice
