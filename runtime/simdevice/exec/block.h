// SPDX-License-Identifier: Apache-2.0
// One running block: its warps, shared memory, barriers, counters and first fault.
// Warps run round-robin; a warp goes on until it ends, waits at a barrier or its time slice is
// over. A block is run in rounds, so that it can be put aside between two of them.
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

class TextureTable;
class Warp;
class ClusterRun;

// Kernel parameters have generic addresses too; they share the shared window, above any shared
// memory.
inline constexpr uint64_t kParamWindow = kSharedWindow + 0x8000'0000ULL;
inline constexpr uint64_t kWindowBytes = 0x1'0000'0000ULL;
// Where cooperative groups keep the barrier of a cooperative launch: %envreg1 and %envreg2 hold the
// address; the barrier is the second word (seen in nvcc's output).
inline constexpr uint64_t kGridWindow = 0x0000'0003'0000'0000ULL;
inline constexpr uint32_t kGridWorkspaceBytes = 256;
// Shared memory of the block with rank r of the cluster: (r + 1) * kClusterStride above one's own.
inline constexpr uint32_t kClusterStride = 1u << 24;
inline constexpr uint32_t kMostClusterBlocks = 16;

// What is the same for all blocks of a launch.
struct LaunchContext {
  const ProgramCode* code = nullptr;
  const FunctionCode* kernel = nullptr;
  const KernelInfo* info = nullptr;
  const uint8_t* pool = nullptr;
  LaunchShape shape;
  const uint8_t* params = nullptr;
  const AddressSpace* memory = nullptr;
  const TextureTable* textures = nullptr;  // nullptr: none
  LaunchClock clock;
  uint64_t budget = 0;
  uint32_t sm_count = 1;
  uint64_t grid_id = 0;
  uint8_t* workspace = nullptr;  // kGridWorkspaceBytes of a cooperative launch, at kGridWindow
  DeviceHeap* heap = nullptr;
  std::function<void(std::string_view)> print;
};

class BlockRun {
 public:
  BlockRun();
  ~BlockRun();
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  // Ready to run; `launch` and `cluster` must outlive the run.
  void start(const LaunchContext& launch, uint64_t block_linear, ClusterRun& cluster,
             uint32_t rank);
  // kWaits: all warps look again and again at memory that does not change; kBlocked: all wait at
  // barriers.
  enum class Progress : uint8_t { kEnded, kRan, kWaits, kBlocked };
  // Lets each warp run for a time slice. After kEnded: done, or failed().
  Progress round();
  // After kBlocked: lanes that wait to meet others again go on if those wait at barriers. True:
  // there were some, try another round.
  bool release_for_barriers();
  void collect(BlockCounters& counters) const;

  const LaunchContext& launch() const { return *launch_; }
  const std::array<uint32_t, 3>& coords() const { return coords_; }
  std::vector<uint8_t>& shared() { return shared_; }
  uint64_t shared_bytes() const { return shared_bytes_; }  // with what is reserved
  uint64_t own_shared_bytes() const {
    return uint64_t{launch_->info->static_smem_bytes} + launch_->shape.dynamic_smem_bytes;
  }
  TrafficMeter& traffic() { return traffic_; }
  const MemoryRegion*& region_hint() { return region_hint_; }
  uint64_t issued_so_far() const { return issued_; }
  ClusterRun& cluster() const { return *cluster_; }
  uint32_t rank() const { return rank_; }
  uint32_t live_threads() const { return live_threads_; }
  const Fault& fault() const { return fault_; }

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
  void release_warps(uint32_t barrier);

 private:
  struct Tally {
    uint64_t runs = 0, lanes = 0;
  };
  struct Barrier {
    uint32_t arrived = 0, expected = 0, votes = 0;
    uint32_t released_votes = 0, released_lanes = 0;
  };

  void start_warps();
  bool any_ready() const;
  bool complete(uint32_t index);
  void add_pipes(const PipeCounts& pipes, uint64_t runs, BlockCounters& counters) const;

  const LaunchContext* launch_ = nullptr;
  std::array<uint32_t, 3> coords_{};
  std::vector<uint8_t> shared_;
  uint64_t shared_bytes_ = 0;
  std::array<Barrier, 16> barriers_{};
  uint32_t live_threads_ = 0;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<bool> ended_;
  uint32_t warp_count_ = 0;
  uint32_t running_warps_ = 0;
  ClusterRun* cluster_ = nullptr;
  uint32_t rank_ = 0;
  TrafficMeter traffic_;
  const MemoryRegion* region_hint_ = nullptr;
  std::vector<Tally> tallies_;
  uint64_t issued_ = 0;
  uint64_t budget_ = 0;
  Fault fault_;
};

}  // namespace gacer::simdevice
