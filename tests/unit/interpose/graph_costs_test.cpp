// SPDX-License-Identifier: Apache-2.0
#include "interpose/graph_costs.h"

#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;

class GraphCostsTest : public test::LaunchFixture {
 protected:
  void SetUp() override { test::decide(segment(), GateMode::kUngated, 0, true, 1); }
  CUgraphNode node(uintptr_t number) { return reinterpret_cast<CUgraphNode>(number * 16); }
  CUgraph graph(uintptr_t number) { return reinterpret_cast<CUgraph>(number * 16); }
  CUgraphNode kernel(uintptr_t number, CUfunction function, unsigned blocks) {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = function;
    params.gridDimX = blocks;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = 100;
    fake().kernel_nodes[node(number)] = params;
    return node(number);
  }
  CUgraphExec instantiate(CUgraph from) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(gacer_hook_cuGraphInstantiateWithFlags(&exec, from, 0), CUDA_SUCCESS);
    return exec;
  }
  shm::LaunchEntry launched(CUgraphExec exec) {
    EXPECT_EQ(gacer_hook_cuGraphLaunch(exec, one_), CUDA_SUCCESS);
    shm::LaunchEntry entry;
    EXPECT_TRUE(next_record(entry));
    return entry;
  }
};

TEST_F(GraphCostsTest, given_kernels_copies_and_a_child_graph_then_a_launch_costs_their_sum) {
  const CUfunction f = test::function_number(1);
  fake().graphs[graph(2)] = {kernel(3, f, 100)};
  fake().child_nodes[node(4)] = graph(2);
  fake().graphs[graph(1)] = {kernel(1, f, 100), kernel(2, f, 100), node(4), node(5)};
  const shm::LaunchEntry entry = launched(instantiate(graph(1)));
  EXPECT_EQ(entry.kind, static_cast<uint8_t>(abi::LaunchKind::kGraph));
  EXPECT_EQ(entry.cost_ns, 3 * kLeastNs + kSmallNodeNs);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, entry.cost_ns);
}

TEST_F(GraphCostsTest, given_the_same_graph_again_then_the_same_identity_and_slot) {
  const CUfunction f = get_function("gemm");
  fake().graphs[graph(1)] = {kernel(1, f, 100)};
  fake().graphs[graph(2)] = {kernel(2, f, 101)};
  const shm::LaunchEntry first = launched(instantiate(graph(1)));
  const shm::LaunchEntry again = launched(instantiate(graph(1)));
  const shm::LaunchEntry other = launched(instantiate(graph(2)));
  EXPECT_EQ(first.kernel_id, again.kernel_id);
  EXPECT_EQ(first.cost_slot, again.cost_slot);
  EXPECT_NE(first.cost_slot, other.cost_slot);
}

TEST_F(GraphCostsTest, given_a_cost_from_the_daemon_then_the_graph_is_charged_by_it) {
  fake().graphs[graph(1)] = {kernel(1, test::function_number(1), 100)};
  const CUgraphExec exec = instantiate(graph(1));
  segment().costs.cost_ns[launched(exec).cost_slot] = 55'000;
  EXPECT_EQ(launched(exec).cost_ns, 55'000u);
}

TEST_F(GraphCostsTest, given_a_graph_of_itself_then_the_walk_ends) {
  fake().child_nodes[node(4)] = graph(1);
  fake().graphs[graph(1)] = {node(4)};
  EXPECT_EQ(launched(instantiate(graph(1))).cost_ns, kSmallNodeNs);
}

TEST_F(GraphCostsTest, given_a_destroyed_or_unseen_exec_then_it_costs_the_unknown_graphs_price) {
  fake().graphs[graph(1)] = {kernel(1, test::function_number(1), 100)};
  const CUgraphExec exec = instantiate(graph(1));
  gacer_hook_cuGraphExecDestroy(exec);
  EXPECT_EQ(launched(exec).cost_ns, kUnknownGraphNs);
}

}  // namespace
}  // namespace gacer::interpose
