// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/grid.h"

#include <algorithm>
#include <thread>

namespace gacer::simdevice {
namespace {

// A block that does not look as if it waited is put aside all the same after so many warp
// instructions: it may wait in a way that is not recognised.
constexpr uint64_t kQuantum = 20'000'000;

// Registers and memory of warps are large; each thread keeps some from block to block.
std::vector<std::unique_ptr<ClusterRun>>& spare_units() {
  static thread_local std::vector<std::unique_ptr<ClusterRun>> spares;
  return spares;
}
constexpr size_t kMostSpares = 2;

std::unique_ptr<ClusterRun> take_unit() {
  auto& spares = spare_units();
  if (spares.empty()) return std::make_unique<ClusterRun>();
  auto unit = std::move(spares.back());
  spares.pop_back();
  return unit;
}

void give_back(std::unique_ptr<ClusterRun> unit) {
  if (unit->size() == 1 && spare_units().size() < kMostSpares)
    spare_units().push_back(std::move(unit));
}

}  // namespace

uint64_t GridScheduler::cluster_of(uint64_t block) const {
  const auto& grid = context_.shape.grid;
  const auto& c = context_.shape.cluster;
  const uint64_t x = block % grid[0] / c[0], y = block / grid[0] % grid[1] / c[1],
                 z = block / grid[0] / grid[1] / c[2];
  return (z * (grid[1] / c[1]) + y) * (grid[0] / c[0]) + x;
}

GridScheduler::GridScheduler(const LaunchContext& context, const GridLaunch& launch)
    : context_(context) {
  if (launch.cooperative) context_.workspace = workspace_.data();
  for (uint64_t block : launch.sample) sample_.push_back(cluster_of(block));
  std::sort(sample_.begin(), sample_.end());
  sample_.erase(std::unique(sample_.begin(), sample_.end()), sample_.end());
  const uint64_t size = context_.shape.blocks_per_cluster();
  count_ = sample_.empty() ? context_.shape.block_count() / size : sample_.size();
  most_begun_ = std::max<uint64_t>(1, launch.resident_blocks / size);
}

void GridScheduler::work(const std::function<bool()>& stop) {
  while (Unit unit = next()) {
    const uint64_t before = unit->issued();
    const ClusterRun::Progress progress = unit->resume(kQuantum);
    const uint64_t issued = unit->issued() - before;
    if (progress == ClusterRun::Progress::kWaits) std::this_thread::yield();
    after(std::move(unit), progress, issued);
    if (stop && stop()) {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
  }
}

GridScheduler::Unit GridScheduler::next() {
  const std::lock_guard lock(mutex_);
  if (over_) return nullptr;
  const bool can_begin = next_ < count_ && begun_ < most_begun_;
  if (can_begin && (new_is_next_ || waiting_.empty())) return begin_one();
  new_is_next_ = true;
  if (waiting_.empty()) return nullptr;
  Unit unit = std::move(waiting_.front());
  waiting_.pop_front();
  return unit;
}

GridScheduler::Unit GridScheduler::begin_one() {
  const uint64_t index = next_++;
  ++begun_;
  new_is_next_ = false;
  idle_issued_ = 0;
  Unit unit = take_unit();
  unit->start(context_, sample_.empty() ? index : sample_[index]);
  return unit;
}

void GridScheduler::after(Unit unit, ClusterRun::Progress progress, uint64_t issued) {
  if (progress != ClusterRun::Progress::kEnded) {
    const std::lock_guard lock(mutex_);
    if (progress == ClusterRun::Progress::kWaits) {
      note_waiting(*unit, issued);
    } else {
      idle_issued_ = 0;
    }
    waiting_.push_back(std::move(unit));
    return;
  }
  BlockCounters counters;
  unit->collect(counters);
  {
    const std::lock_guard lock(mutex_);
    counters_.add(counters);
    blocks_run_ += unit->size();
    --begun_;
    idle_issued_ = 0;
    if (unit->fault().kind != FaultKind::kNone) note_fault(unit->fault(), unit->first_block());
  }
  give_back(std::move(unit));
}

// Blocks that wait run on and on, a few instructions at a time; together they may execute this part
// of what one block may.
void GridScheduler::note_waiting(ClusterRun& unit, uint64_t issued) {
  idle_issued_ += issued;
  constexpr uint64_t kWaitingPart = 8;
  if (context_.budget == 0 || idle_issued_ < context_.budget / kWaitingPart) return;
  note_fault({FaultKind::kTimeout,
              unit.block(0).where(0) + ": waits for memory that nobody changes any more"},
             unit.first_block());
}

void GridScheduler::note_fault(const Fault& fault, uint64_t block) {
  over_ = true;
  if (block >= fault_block_) return;
  fault_block_ = block;
  fault_ = fault;
}

}  // namespace gacer::simdevice
