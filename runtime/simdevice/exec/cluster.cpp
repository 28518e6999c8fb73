// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/cluster.h"

#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {

std::array<uint32_t, 3> ClusterRun::position_of(uint32_t rank) const {
  const auto& c = launch_->shape.cluster;
  return {rank % c[0], rank / c[0] % c[1], rank / c[0] / c[1]};
}

uint64_t ClusterRun::block_number(uint64_t cluster_linear, uint32_t rank) const {
  const auto& [grid, block, smem, c] = launch_->shape;
  const uint64_t across = grid[0] / c[0], down = grid[1] / c[1];
  const auto at = position_of(rank);
  const uint64_t x = cluster_linear % across * c[0] + at[0],
                 y = cluster_linear / across % down * c[1] + at[1],
                 z = cluster_linear / across / down * c[2] + at[2];
  return (z * grid[1] + y) * grid[0] + x;
}

void ClusterRun::start(const LaunchContext& launch, uint64_t cluster_linear) {
  launch_ = &launch;
  size_ = static_cast<uint32_t>(launch.shape.blocks_per_cluster());
  arrived_ = phase_ = 0;
  ended_.assign(size_, false);
  first_block_ = block_number(cluster_linear, 0);
  while (blocks_.size() < size_) blocks_.push_back(std::make_unique<BlockRun>());
  for (uint32_t rank = 0; rank < size_; ++rank)
    blocks_[rank]->start(launch, block_number(cluster_linear, rank), *this, rank);
}

// False: everything ended, or something failed.
bool ClusterRun::round(bool& ran, bool& waits) {
  bool left = false;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (ended_[rank]) continue;
    const BlockRun::Progress progress = blocks_[rank]->round();
    if (blocks_[rank]->failed()) return false;
    ended_[rank] = progress == BlockRun::Progress::kEnded;
    ran |= ended_[rank] || progress == BlockRun::Progress::kRan;
    waits |= progress == BlockRun::Progress::kWaits;
    left |= !ended_[rank];
  }
  return left;
}

bool ClusterRun::release_for_barriers() {
  bool any = false;
  for (uint32_t rank = 0; rank < size_; ++rank)
    any |= !ended_[rank] && blocks_[rank]->release_for_barriers();
  return any;
}

ClusterRun::Progress ClusterRun::resume(uint64_t quantum) {
  constexpr int kIdleRounds = 2;  // the first may only just have seen what an earlier one changed
  const uint64_t begin = issued();
  bool progressed = false;
  for (int idle = 0;;) {
    bool ran = false, waits = false;
    if (!round(ran, waits)) return Progress::kEnded;
    if (ran) {
      idle = 0;
      progressed = true;
      if (issued() - begin >= quantum) return Progress::kPaused;
    } else if (!waits) {
      if (release_for_barriers()) continue;
      BlockRun& first = *blocks_[0];
      first.fail(FaultKind::kTimeout,
                 first.where(0) + ": all warps wait at barriers that nobody completes");
      return Progress::kEnded;
    } else if (++idle == kIdleRounds) {
      return progressed ? Progress::kPaused : Progress::kWaits;
    }
  }
}

const Fault& ClusterRun::fault() const {
  for (uint32_t rank = 0; rank < size_; ++rank)
    if (blocks_[rank]->failed()) return blocks_[rank]->fault();
  return blocks_[0]->fault();
}

void ClusterRun::collect(BlockCounters& counters) const {
  for (uint32_t rank = 0; rank < size_; ++rank) blocks_[rank]->collect(counters);
}

uint64_t ClusterRun::issued() const {
  uint64_t sum = 0;
  for (uint32_t rank = 0; rank < size_; ++rank) sum += blocks_[rank]->issued_so_far();
  return sum;
}

uint32_t ClusterRun::arrive(uint32_t lanes) {
  const uint32_t arrived_in = phase_;
  arrived_ += lanes;
  complete_phase();
  return arrived_in;
}

void ClusterRun::threads_ended() {
  if (arrived_ != 0) complete_phase();
}

void ClusterRun::complete_phase() {
  uint32_t live = 0;
  for (uint32_t rank = 0; rank < size_; ++rank) live += blocks_[rank]->live_threads();
  if (arrived_ < live) return;
  arrived_ = 0;
  ++phase_;
  for (uint32_t rank = 0; rank < size_; ++rank) blocks_[rank]->release_warps(kClusterBarrier);
}

}  // namespace gacer::simdevice
