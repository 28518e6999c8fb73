// SPDX-License-Identifier: Apache-2.0
// The blocks of one cluster, which run together and see each other's shared memory. A launch
// without clusters has clusters of one block. Runs in pieces: what waits for another cluster is put
// aside by GridRun and may go on in another thread. Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "runtime/simdevice/exec/block.h"

namespace gacer::simdevice {

class ClusterRun {
 public:
  // `launch` must outlive the run. `cluster_linear`: number of the cluster in the grid, x fastest.
  void start(const LaunchContext& launch, uint64_t cluster_linear);

  // kWaits: nothing was done but to look at memory that does not change.
  enum class Progress : uint8_t { kEnded, kPaused, kWaits };
  // Runs until all blocks ended, one failed, about `quantum` warp instructions are issued, or all
  // wait.
  Progress resume(uint64_t quantum);

  // First fault of the blocks by rank.
  const Fault& fault() const;
  void collect(BlockCounters& counters) const;
  uint64_t first_block() const { return first_block_; }  // by its number in the grid
  uint32_t size() const { return size_; }
  uint64_t issued() const;

  BlockRun& block(uint32_t rank) { return *blocks_[rank]; }
  // Position of a block in its cluster.
  std::array<uint32_t, 3> position_of(uint32_t rank) const;

  // barrier.cluster: `lanes` threads arrive in the current phase, whose number is returned.
  uint32_t arrive(uint32_t lanes);
  uint32_t phase() const { return phase_; }
  // Some thread ended, which nobody waits for any more.
  void threads_ended();

 private:
  uint64_t block_number(uint64_t cluster_linear, uint32_t rank) const;
  bool round(bool& ran, bool& waits);
  bool release_for_barriers();
  void complete_phase();

  const LaunchContext* launch_ = nullptr;
  std::vector<std::unique_ptr<BlockRun>> blocks_;
  std::vector<bool> ended_;
  uint32_t size_ = 0;
  uint32_t arrived_ = 0;
  uint32_t phase_ = 0;
  uint64_t first_block_ = 0;
};

}  // namespace gacer::simdevice
