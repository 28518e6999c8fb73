// SPDX-License-Identifier: Apache-2.0
// Which clusters of a launch run, and which wait aside. New clusters and those that wait take
// turns, so that producers get to run whatever their number; at most as many clusters are begun as
// the device would hold.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/simdevice/exec/cluster.h"

namespace gacer::simdevice {

class GridScheduler final : public GridRun {
 public:
  // `context` is complete but for the workspace. Precondition: the clusters divide the grid.
  GridScheduler(const LaunchContext& context, const GridLaunch& launch);

  void work(const std::function<bool()>& stop) override;
  const Fault& fault() const override { return fault_; }
  const BlockCounters& counters() const override { return counters_; }
  uint64_t blocks_run() const override { return blocks_run_; }

 private:
  using Unit = std::unique_ptr<ClusterRun>;

  // What this thread runs next; null: nothing.
  Unit next();
  Unit begin_one();
  void after(Unit unit, ClusterRun::Progress progress, uint64_t issued);
  void note_waiting(ClusterRun& unit, uint64_t issued);
  void note_fault(const Fault& fault, uint64_t block);
  uint64_t cluster_of(uint64_t block) const;

  LaunchContext context_;
  alignas(64) std::array<uint8_t, kGridWorkspaceBytes> workspace_{};
  std::vector<uint64_t> sample_;  // cluster numbers; empty: all
  uint64_t count_ = 0;            // clusters to run
  uint64_t most_begun_ = 1;

  std::mutex mutex_;  // guards all below
  std::deque<Unit> waiting_;
  uint64_t next_ = 0;
  uint64_t begun_ = 0;        // and not ended
  bool new_is_next_ = true;   // turns of new clusters and those that wait
  bool over_ = false;         // by a fault, or because the caller said so
  uint64_t idle_issued_ = 0;  // warp instructions since anything but waiting was done
  uint64_t fault_block_ = ~uint64_t{0};
  Fault fault_;
  BlockCounters counters_;
  uint64_t blocks_run_ = 0;
};

}  // namespace gacer::simdevice
