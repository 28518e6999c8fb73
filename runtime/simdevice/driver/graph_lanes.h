// SPDX-License-Identifier: Apache-2.0
// On which of several streams ("lanes") the nodes of a graph are issued, so that branches overlap
// and each dependency is kept: by the order of a lane, or by an event between two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gacer::simdriver {

struct LaneNode {
  std::vector<size_t> dependencies;  // positions of earlier nodes
  std::optional<uint32_t> context;   // where it must be issued; none: anywhere
};

struct LanePlan {
  struct Step {
    size_t lane = 0;
    std::vector<size_t> waits;     // nodes of other lanes whose events are waited for first
    bool waits_for_start = false;  // for what was in the launch stream before
    bool signals = false;          // its event is recorded behind it
  };
  std::vector<Step> steps;              // by node
  std::vector<uint32_t> lane_contexts;  // lane 0 is the launch stream
  std::vector<size_t> ends;             // nodes whose events the launch stream waits for at last
  bool uses_start() const;
};

inline constexpr size_t kMaxLanes = 32;  // as many as there are hardware queues

// `nodes`: dependencies before dependents. `context`: that of the launch stream. With more branches
// than lanes some share one.
LanePlan plan_lanes(const std::vector<LaneNode>& nodes, uint32_t context,
                    size_t max_lanes = kMaxLanes);

}  // namespace gacer::simdriver
