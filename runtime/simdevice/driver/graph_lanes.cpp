// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph_lanes.h"

#include <algorithm>

namespace gacer::simdriver {
namespace {

constexpr size_t kNone = SIZE_MAX;

class Planner {
 public:
  Planner(const std::vector<LaneNode>& nodes, uint32_t context, size_t max_lanes)
      : nodes_(nodes), max_lanes_(max_lanes) {
    plan_.steps.resize(nodes.size());
    add_lane(context);
  }

  LanePlan run() {
    for (size_t i = 0; i < nodes_.size(); ++i) place(i);
    for (size_t lane = 1; lane < tails_.size(); ++lane) {
      plan_.ends.push_back(tails_[lane]);
      plan_.steps[tails_[lane]].signals = true;
    }
    return std::move(plan_);
  }

 private:
  size_t add_lane(uint32_t context) {
    plan_.lane_contexts.push_back(context);
    tails_.push_back(kNone);
    return tails_.size() - 1;
  }
  bool suits(size_t lane, const LaneNode& node) const {
    return !node.context || plan_.lane_contexts[lane] == *node.context;
  }
  // A lane that ends with one of the node's dependencies goes on with the node.
  size_t lane_to_follow(const LaneNode& node) const {
    for (const size_t dependency : node.dependencies) {
      const size_t lane = plan_.steps[dependency].lane;
      if (tails_[lane] == dependency && suits(lane, node)) return lane;
    }
    return kNone;
  }
  size_t choose(const LaneNode& node) {
    if (const size_t lane = lane_to_follow(node); lane != kNone) return lane;
    if (tails_[0] == kNone && node.dependencies.empty() && suits(0, node)) return 0;
    const uint32_t context = node.context.value_or(plan_.lane_contexts[0]);
    if (tails_.size() < max_lanes_) return add_lane(context);
    // All are taken: the one that has been left alone longest.
    size_t best = kNone;
    for (size_t lane = 0; lane < tails_.size(); ++lane)
      if (suits(lane, node) && (best == kNone || tails_[lane] < tails_[best])) best = lane;
    return best != kNone ? best : add_lane(context);
  }
  void place(size_t position) {
    const LaneNode& node = nodes_[position];
    LanePlan::Step& step = plan_.steps[position];
    step.lane = choose(node);
    const bool first_of_lane = tails_[step.lane] == kNone;
    for (const size_t dependency : node.dependencies) wait_for(step, dependency);
    step.waits_for_start = step.lane != 0 && first_of_lane && step.waits.empty();
    tails_[step.lane] = position;
  }
  // Of several dependencies in one lane the last stands for all.
  void wait_for(LanePlan::Step& step, size_t dependency) {
    const size_t lane = plan_.steps[dependency].lane;
    if (lane == step.lane) return;
    for (size_t& other : step.waits) {
      if (plan_.steps[other].lane != lane) continue;
      if (other < dependency) {
        other = dependency;
        plan_.steps[dependency].signals = true;
      }
      return;
    }
    step.waits.push_back(dependency);
    plan_.steps[dependency].signals = true;
  }

  const std::vector<LaneNode>& nodes_;
  const size_t max_lanes_;
  LanePlan plan_;
  std::vector<size_t> tails_;  // by lane
};

}  // namespace

bool LanePlan::uses_start() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return step.waits_for_start; });
}

LanePlan plan_lanes(const std::vector<LaneNode>& nodes, uint32_t context, size_t max_lanes) {
  return Planner(nodes, context, max_lanes).run();
}

}  // namespace gacer::simdriver
