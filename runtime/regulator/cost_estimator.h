// SPDX-License-Identifier: Apache-2.0
// Learns how long each kernel of one process runs, from nothing but the order of its launches and
// polls of the completion counters.
//
//   true ends      |--k1--|k2|------k3------|k4|
//   polls        P0          P1         P2        P3
//
// A launch that is complete at P1 and was not at P0 ended in (P0, P1]. The estimator predicts the
// ends from its current durations; where a prediction leaves its interval it is moved to the
// interval's edge and the durations between are corrected by that much. Predictions that fit teach
// nothing, so the poll interval does not bias kernels that are far shorter. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/regulator/group_fit.h"
#include "runtime/regulator/kernel_table.h"
#include "runtime/regulator/regulator.h"
#include "runtime/regulator/stream_timeline.h"

namespace gacer::regulator {

// How one poll of a stream is to be read.
struct Observation {
  uint64_t completed_cost_ns = 0;
  uint64_t now_ns = 0;
  uint64_t others_busy_until_ns =
      0;  // newest time at which any other stream of the device had work
  // Launches submitted since then have a mark each; of others only every n-th end can be seen.
  uint64_t all_marked_since_ns = UINT64_MAX;
};

class CostEstimator {
 public:
  static constexpr size_t kMaxKernels = 4096;

  explicit CostEstimator(const DeviceShape& device) : device_(device), kernels_(kMaxKernels) {}

  void launched(const LaunchEvent& launch);
  void progressed(uint32_t stream_slot, const Observation& seen);
  void stream_gone(uint32_t stream_slot);

  // Appends the costs that moved by more than step_percent since they were last appended.
  void drain_costs(ProcessId process, uint64_t step_percent, std::vector<KernelCost>& costs);

  // Null when the kernel is unknown.
  const KernelEstimate* find(const LaunchEvent& launch) { return kernels_.find(key_of(launch)); }

 private:
  struct Published {
    KernelKey key;
    uint32_t cost_ns = 0;
    bool queued = false;
  };

  KernelEstimate new_estimate(const LaunchEvent& launch) const;
  double duration_of(const KernelKey& key);
  GroupTimes times_of(const CompletedGroup& group, const Observation& seen);
  uint64_t fit(const CompletedGroup& group, const Observation& seen);
  void learn(const KernelKey& key, double ratio, bool alone);
  void queue_cost(const KernelEstimate& kernel);

  DeviceShape device_;
  KernelTable kernels_;
  std::array<StreamTimeline, kMaxStreamSlots> streams_;
  std::unordered_map<uint32_t, Published> published_;  // by cost slot
  uint64_t group_number_ = 0;
  std::vector<uint32_t> queue_;  // cost slots whose estimate moved
};

}  // namespace gacer::regulator
