// SPDX-License-Identifier: Apache-2.0
// Branches of graphs on lanes: every dependency is kept by order or by an event.
#include "runtime/simdevice/driver/graph_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace gacer::simdriver {
namespace {

LaneNode after(std::vector<size_t> dependencies) {
  return {std::move(dependencies), std::nullopt};
}

// What is over for certain when a node starts, and when the launch stream has passed the graph.
struct Order {
  std::vector<std::set<size_t>> before;
  std::set<size_t> at_end;
};
Order order_of(const LanePlan& plan) {
  Order order;
  std::vector<std::set<size_t>> lane(plan.lane_contexts.size());
  const auto add = [&](std::set<size_t>& to, size_t node) {
    to.insert(order.before[node].begin(), order.before[node].end());
    to.insert(node);
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const LanePlan::Step& step = plan.steps[i];
    order.before.push_back(lane[step.lane]);
    for (const size_t other : step.waits) {
      EXPECT_TRUE(plan.steps[other].signals) << other;
      add(order.before[i], other);
    }
    lane[step.lane] = order.before[i];
    lane[step.lane].insert(i);
  }
  order.at_end = lane[0];
  for (const size_t last : plan.ends) {
    EXPECT_TRUE(plan.steps[last].signals) << last;
    add(order.at_end, last);
  }
  return order;
}

TEST(GraphLanes, given_a_chain_then_it_stays_in_the_launch_stream_without_events) {
  const LanePlan plan = plan_lanes({after({}), after({0}), after({1})}, 0);
  EXPECT_EQ(plan.lane_contexts.size(), 1U);
  for (const auto& step : plan.steps) {
    EXPECT_EQ(step.lane, 0U);
    EXPECT_TRUE(step.waits.empty());
    EXPECT_FALSE(step.signals);
  }
  EXPECT_TRUE(plan.ends.empty());
}

TEST(GraphLanes, given_a_diamond_then_its_sides_have_a_lane_each) {
  const LanePlan plan = plan_lanes({after({}), after({0}), after({0}), after({1, 2})}, 0);
  EXPECT_NE(plan.steps[1].lane, plan.steps[2].lane);
  EXPECT_EQ(plan.steps[3].waits.size(), 1U);
  EXPECT_FALSE(plan.uses_start());
}

TEST(GraphLanes, given_two_roots_then_the_second_waits_for_the_start_of_the_launch) {
  const LanePlan plan = plan_lanes({after({}), after({})}, 0);
  EXPECT_TRUE(plan.steps[1].waits_for_start);
  EXPECT_EQ(plan.ends, std::vector<size_t>{1});
}

TEST(GraphLanes, given_nodes_of_another_context_then_they_have_a_lane_there) {
  const LanePlan plan = plan_lanes({{{}, 0U}, {{0}, 7U}, {{1}, 0U}}, 0);
  EXPECT_EQ(plan.lane_contexts[plan.steps[1].lane], 7U);
  EXPECT_EQ(plan.lane_contexts[plan.steps[2].lane], 0U);
}

TEST(GraphLanes, given_random_graphs_then_all_dependencies_and_the_end_are_kept) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<LaneNode> nodes(1 + random() % 40);
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        if (random() % 6 == 0) nodes[i].dependencies.push_back(j);
      if (random() % 5 == 0) nodes[i].context = random() % 3;
    }
    const LanePlan plan = plan_lanes(nodes, 0, 1 + random() % 6);
    const Order order = order_of(plan);
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const size_t dependency : nodes[i].dependencies)
        EXPECT_TRUE(order.before[i].contains(dependency)) << round << ": " << dependency;
      EXPECT_TRUE(order.at_end.contains(i)) << round << ": " << i;
      if (nodes[i].context) {
        EXPECT_EQ(plan.lane_contexts[plan.steps[i].lane], *nodes[i].context);
      }
      const bool started =
          plan.steps[i].lane == 0 || plan.steps[i].waits_for_start || !order.before[i].empty();
      EXPECT_TRUE(started) << round << ": " << i;
    }
  }
}

}  // namespace
}  // namespace gacer::simdriver
