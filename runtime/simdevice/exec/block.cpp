// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/block.h"

#include <algorithm>

#include "runtime/simdevice/exec/cluster.h"
#include "runtime/simdevice/exec/specials.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {

BlockRun::BlockRun() = default;
BlockRun::~BlockRun() = default;

void BlockRun::start(const LaunchContext& launch, uint64_t block_linear, ClusterRun& cluster,
                     uint32_t rank) {
  launch_ = &launch;
  cluster_ = &cluster;
  rank_ = rank;
  const auto& grid = launch.shape.grid;
  coords_ = {static_cast<uint32_t>(block_linear % grid[0]),
             static_cast<uint32_t>(block_linear / grid[0] % grid[1]),
             static_cast<uint32_t>(block_linear / grid[0] / grid[1])};
  shared_bytes_ = own_shared_bytes();
  if (uses_reserved_shared(launch.code->special_used))
    shared_bytes_ = reserved_begin(shared_bytes_) + kReservedSharedBytes;
  shared_.assign(shared_bytes_, 0);
  barriers_ = {};
  traffic_.reset((launch.shape.threads_per_block() + kLanes - 1) / kLanes);
  region_hint_ = nullptr;
  tallies_.assign(launch.code->counter_count, Tally{});
  issued_ = 0;
  budget_ = launch.budget == 0 ? ~uint64_t{0} : launch.budget;
  fault_ = {};
  start_warps();
}

void BlockRun::start_warps() {
  live_threads_ = launch_->shape.threads_per_block();
  running_warps_ = warp_count_ = (live_threads_ + kLanes - 1) / kLanes;
  while (warps_.size() < warp_count_) warps_.push_back(std::make_unique<Warp>());
  ended_.assign(warp_count_, false);
  for (uint32_t w = 0; w < warp_count_; ++w)
    warps_[w]->start(*this, *launch_->kernel, w * kLanes,
                     std::min<uint32_t>(kLanes, live_threads_ - w * kLanes));
}

BlockRun::Progress BlockRun::round() {
  bool ran = false, waits = false;
  for (uint32_t w = 0; w < warp_count_ && !failed(); ++w) {
    if (ended_[w]) continue;
    const uint64_t before = warps_[w]->issued();
    traffic_.set_warp(w);
    const WarpStatus status = warps_[w]->run();
    waits |= status == WarpStatus::kSpinning;
    ran |= status == WarpStatus::kYielded || status == WarpStatus::kDone ||
           (status == WarpStatus::kBlocked && warps_[w]->issued() != before);
    if (status != WarpStatus::kDone) continue;
    ended_[w] = true;
    --running_warps_;
  }
  if (failed() || running_warps_ == 0) return Progress::kEnded;
  // A barrier completed by the last warp of the round releases earlier ones: they have ready nodes
  // now.
  if (ran || (!waits && any_ready())) return Progress::kRan;
  return waits ? Progress::kWaits : Progress::kBlocked;
}

bool BlockRun::any_ready() const {
  for (uint32_t w = 0; w < warp_count_; ++w)
    if (!ended_[w] && warps_[w]->has_ready()) return true;
  return false;
}

bool BlockRun::release_for_barriers() {
  bool any = false;
  for (uint32_t w = 0; w < warp_count_; ++w) any |= !ended_[w] && warps_[w]->release_for_barriers();
  return any;
}

bool BlockRun::fail(FaultKind kind, const std::string& message) {
  if (!failed()) fault_ = {kind, message};
  return false;
}

std::string BlockRun::where(uint32_t t) const {
  const auto& b = launch_->shape.block;
  const auto triple = [](uint64_t x, uint64_t y, uint64_t z) {
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
  };
  return "kernel " + launch_->info->name + ", block " + triple(coords_[0], coords_[1], coords_[2]) +
         ", thread " + triple(t % b[0], t / b[0] % b[1], t / b[0] / b[1]);
}

bool BlockRun::complete(uint32_t index) {
  Barrier& barrier = barriers_[index];
  const uint32_t expected = barrier.expected != 0 ? barrier.expected : live_threads_;
  if (barrier.arrived == 0 || barrier.arrived < expected) return false;
  barrier.released_votes = barrier.votes;
  barrier.released_lanes = barrier.arrived;
  barrier.arrived = barrier.votes = 0;
  release_warps(index);
  return true;
}

void BlockRun::release_warps(uint32_t barrier) {
  for (uint32_t w = 0; w < warp_count_; ++w) warps_[w]->release_barrier(barrier);
}

bool BlockRun::arrive(const Arrival& arrival) {
  Barrier& barrier = barriers_[arrival.barrier];
  barrier.arrived += arrival.lanes;
  barrier.expected = arrival.expected;
  barrier.votes += arrival.votes;
  return complete(arrival.barrier);
}

void BlockRun::threads_ended(uint32_t lanes) {
  live_threads_ -= lanes;
  for (uint32_t i = 0; i < barriers_.size(); ++i)
    if (barriers_[i].arrived != 0 && barriers_[i].expected == 0) complete(i);
  cluster_->threads_ended();
}

void BlockRun::add_pipes(const PipeCounts& pipes, uint64_t runs, BlockCounters& counters) const {
  counters.fp32_warp += pipes.fp32 * runs;
  counters.fp64_warp += pipes.fp64 * runs;
  counters.int_warp += pipes.integer * runs;
  counters.sfu_warp += pipes.sfu * runs;
  counters.memory_warp += pipes.memory * runs;
  counters.shared_warp += pipes.shared * runs;
  counters.shared_beats += pipes.shared_beats * runs;
  counters.barrier_warp += pipes.barrier * runs;
  counters.atomics += pipes.atomics * runs;
}

void BlockRun::collect(BlockCounters& counters) const {
  uint64_t tensor_eighths = 0;
  for (const FunctionCode& fn : launch_->code->functions) {
    for (size_t i = 0; i < fn.blocks.size(); ++i) {
      const Tally& tally = tallies_[fn.first_counter + i];
      if (tally.runs == 0) continue;
      counters.warp_instructions += tally.runs * fn.blocks[i].issued;
      counters.thread_instructions += tally.lanes * fn.blocks[i].issued;
      add_pipes(fn.blocks[i].pipes, tally.runs, counters);
      tensor_eighths += fn.blocks[i].pipes.tensor * tally.runs;
      for (size_t k = 0; k < kLatencyCount; ++k)
        counters.chain[k] += fn.blocks[i].chain[k] * tally.runs;
    }
  }
  counters.tensor_warp += (tensor_eighths + 7) / 8;
  counters.warps += warp_count_;
  traffic_.add_reuse(counters.reuse);
  counters.global_sectors_read += traffic_.sectors_read();
  counters.global_sectors_written += traffic_.sectors_written();
  counters.unique_bytes_read += traffic_.unique_bytes_read();
  counters.unique_bytes_written += traffic_.unique_bytes_written();
  for (uint32_t w = 0; w < warp_count_; ++w) {
    counters.longest_warp_instructions =
        std::max(counters.longest_warp_instructions, warps_[w]->issued());
    counters.longest_warp_sleep_ns =
        std::max(counters.longest_warp_sleep_ns, warps_[w]->clock().slept_ns());
    counters.longest_warp_global_loads =
        std::max(counters.longest_warp_global_loads, warps_[w]->global_loads());
  }
}

}  // namespace gacer::simdevice
