// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gacer::simdriver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Graph, IndependentNodesKeepTheOrderOfAddition) {
  Graph graph;
  GraphNode* a = graph.add(EmptyWork{}, {});
  GraphNode* b = graph.add(EmptyWork{}, {});
  GraphNode* c = graph.add(EmptyWork{}, {});
  EXPECT_THAT(graph.topological_order(), ElementsAre(a, b, c));
}

TEST(Graph, DependenciesComeFirst) {
  Graph graph;
  GraphNode* late = graph.add(EmptyWork{}, {});
  GraphNode* early = graph.add(EmptyWork{}, {});
  GraphNode* last = graph.add(EmptyWork{}, {late});
  ASSERT_TRUE(Graph::connect(*early, *late));
  EXPECT_THAT(graph.topological_order(), ElementsAre(early, late, last));
  EXPECT_THAT(graph.roots(), ElementsAre(early));
}

TEST(Graph, ACycleLeavesTheOrderShort) {
  Graph graph;
  GraphNode* a = graph.add(EmptyWork{}, {});
  GraphNode* b = graph.add(EmptyWork{}, {a});
  ASSERT_TRUE(Graph::connect(*b, *a));
  EXPECT_THAT(graph.topological_order(), IsEmpty());
}

TEST(Graph, EdgesAreUniqueAndCanBeTakenBack) {
  Graph graph;
  GraphNode* a = graph.add(EmptyWork{}, {});
  GraphNode* b = graph.add(EmptyWork{}, {a});
  EXPECT_FALSE(Graph::connect(*a, *b));
  EXPECT_THAT(graph.edges(), ElementsAre(std::pair(a, b)));
  EXPECT_TRUE(Graph::disconnect(*a, *b));
  EXPECT_FALSE(Graph::disconnect(*a, *b));
  EXPECT_THAT(graph.edges(), IsEmpty());
}

TEST(Graph, RefusesForeignAndRepeatedDependencies) {
  Graph graph;
  Graph other;
  GraphNode* a = graph.add(EmptyWork{}, {});
  GraphNode* foreign = other.add(EmptyWork{}, {});
  EXPECT_EQ(graph.add(EmptyWork{}, {foreign}), nullptr);
  EXPECT_EQ(graph.add(EmptyWork{}, {a, a}), nullptr);
  EXPECT_EQ(graph.nodes.size(), 1U);
}

TEST(Graph, RemovingANodeTakesItsEdges) {
  Graph graph;
  GraphNode* a = graph.add(EmptyWork{}, {});
  GraphNode* b = graph.add(EmptyWork{}, {a});
  GraphNode* c = graph.add(EmptyWork{}, {b});
  graph.remove(*b);
  EXPECT_THAT(graph.edges(), IsEmpty());
  EXPECT_THAT(graph.topological_order(), ElementsAre(a, c));
}

TEST(Graph, ACloneIsDeepAndRemembersWhereItCameFrom) {
  Graph graph;
  auto inner = std::make_shared<Graph>();
  inner->add(MemsetWork{}, {});
  GraphNode* a = graph.add(MemsetWork{16, 4, 1, 4, 9, 1}, {});
  GraphNode* b = graph.add(ChildGraphWork{inner}, {a});
  const auto copy = graph.clone();
  ASSERT_EQ(copy->nodes.size(), 2U);
  GraphNode* copied = copy->clone_of.at(b);
  EXPECT_THAT(copied->dependencies, ElementsAre(copy->clone_of.at(a)));
  EXPECT_EQ(std::get<MemsetWork>(copy->clone_of.at(a)->work).value, 9U);
  EXPECT_NE(std::get<ChildGraphWork>(copied->work).graph, inner);
  EXPECT_EQ(copied->type(), CU_GRAPH_NODE_TYPE_GRAPH);
}

TEST(Graph, RandomAcyclicGraphsAreOrderedCorrectly) {
  uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525 + 1013904223; };
  for (int round = 0; round < 50; ++round) {
    Graph graph;
    std::vector<GraphNode*> nodes;
    for (int i = 0; i < 30; ++i) nodes.push_back(graph.add(EmptyWork{}, {}));
    // Edges from higher to lower positions only: acyclic, and against the order of addition.
    for (int i = 0; i < 60; ++i) {
      const size_t from = next() % 30;
      const size_t to = next() % 30;
      if (from > to) Graph::connect(*nodes[from], *nodes[to]);
    }
    const auto order = graph.topological_order();
    ASSERT_EQ(order.size(), nodes.size());
    for (const auto& [from, to] : graph.edges())
      EXPECT_LT(std::find(order.begin(), order.end(), from),
                std::find(order.begin(), order.end(), to));
  }
}

}  // namespace
}  // namespace gacer::simdriver
