// SPDX-License-Identifier: Apache-2.0
#include "interpose/graph_costs.h"

#include "tests/unit/interpose/graph_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;

class GraphCostsTest : public test::GraphFixture {};

TEST_F(GraphCostsTest, given_kernels_copies_and_a_child_graph_then_a_launch_costs_their_sum) {
  fake().graphs[graph(2)] = {kernel(3, f_, 100)};
  fake().graphs[graph(1)] = {kernel(1, f_, 100), kernel(2, f_, 100), child(4, graph(2)), node(5)};
  const shm::LaunchEntry entry = launched(instantiate(graph(1)));
  EXPECT_EQ(entry.kind, static_cast<uint8_t>(abi::LaunchKind::kGraph));
  EXPECT_EQ(entry.cost_ns, 3 * kLeastNs + kSmallNodeNs);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, entry.cost_ns);
}

TEST_F(GraphCostsTest, STR_02_given_a_graph_of_100_kernels_then_it_is_charged_as_100_launches) {
  for (uintptr_t i = 1; i <= 100; ++i)
    fake().graphs[graph(1)].push_back(kernel(i, f_, static_cast<unsigned>(1000 * i)));
  uint64_t alone_ns = 0;
  for (unsigned i = 1; i <= 100; ++i) {
    launch(two_, f_, 1000 * i);
    shm::LaunchEntry entry;
    ASSERT_TRUE(next_record(entry));
    alone_ns += entry.cost_ns;
  }
  EXPECT_GT(alone_ns, 100 * kLeastNs);
  EXPECT_EQ(launched(instantiate(graph(1))).cost_ns, alone_ns);
}

TEST_F(GraphCostsTest, STR_02_given_a_closed_gate_then_a_graph_launch_waits_as_a_kernel_does) {
  fake().graphs[graph(1)] = {kernel(1, f_, 100)};
  const CUgraphExec exec = instantiate(graph(1));
  test::decide(segment(), GateMode::kClosed, 0, true, 1);
  segment().gate.max_wait_ns = 1'000;
  EXPECT_NE(launched(exec).reason, 0u);
  EXPECT_EQ(progress().waits, 1u);
}

TEST_F(GraphCostsTest, given_copies_and_memsets_then_they_count_by_their_bytes) {
  fake().graphs[graph(1)] = {copy(1, 50'000'000)};
  EXPECT_EQ(cost_of(graph(1)), kSmallNodeNs + 50'000'000 / kNodeBytesPerNs);
  fake().graphs[graph(2)] = {memset_of(2, 1'000'000)};
  EXPECT_EQ(cost_of(graph(2)), kSmallNodeNs + 4'000'000 / kNodeBytesPerNs);
}

TEST_F(GraphCostsTest, given_a_copy_of_wild_size_then_the_cost_is_bounded) {
  fake().copy_nodes[node(1)].WidthInBytes = SIZE_MAX;
  fake().copy_nodes[node(1)].Height = fake().copy_nodes[node(1)].Depth = SIZE_MAX;
  fake().graphs[graph(1)] = {node(1)};
  EXPECT_EQ(cost_of(graph(1)), kMostGraphNs);
}

TEST_F(GraphCostsTest, given_memory_event_and_host_nodes_then_they_cost_nothing) {
  uintptr_t number = 10;
  for (const CUgraphNodeType type :
       {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_HOST,
        CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EMPTY,
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT})
    fake().graphs[graph(1)].push_back(other(++number, type));
  fake().graphs[graph(1)].push_back(kernel(1, f_, 30'000));
  fake().graphs[graph(2)] = {node(1)};
  EXPECT_EQ(cost_of(graph(1)), cost_of(graph(2)));
}

TEST_F(GraphCostsTest, given_a_kernel_that_was_measured_on_a_stream_then_its_node_costs_that) {
  const CUfunction gemm = get_function("gemm");
  launch(two_, gemm, 100);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  segment().costs.cost_ns[entry.cost_slot] = 70'000;
  fake().graphs[graph(1)] = {kernel(1, gemm, 100), kernel(2, gemm, 100)};
  EXPECT_EQ(cost_of(graph(1)), 140'000u);
}

TEST_F(GraphCostsTest, given_kernels_measured_later_then_the_graphs_cost_follows) {
  const CUfunction gemm = get_function("gemm");
  launch(two_, gemm, 100);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  fake().graphs[graph(1)] = {kernel(1, gemm, 100)};
  const CUgraphExec exec = instantiate(graph(1));
  EXPECT_EQ(launched(exec).cost_ns, kLeastNs);
  segment().costs.cost_ns[entry.cost_slot] = 70'000;
  uint32_t cost_ns = 0;
  for (int i = 0; i < 100; ++i) cost_ns = launched(exec).cost_ns;
  EXPECT_EQ(cost_ns, 70'000u);
}

TEST_F(GraphCostsTest, given_the_same_graph_again_then_the_same_identity_and_slot) {
  const CUfunction f = get_function("gemm");
  fake().graphs[graph(1)] = {kernel(1, f, 100), kernel(3, f, 7)};
  fake().graphs[graph(2)] = {kernel(2, f, 101)};
  fake().graphs[graph(3)] = {kernel(4, f, 7), kernel(5, f, 100)};  // in another order
  const shm::LaunchEntry first = launched(instantiate(graph(1)));
  const shm::LaunchEntry again = launched(instantiate(graph(3)));
  const shm::LaunchEntry other = launched(instantiate(graph(2)));
  EXPECT_EQ(first.kernel_id, again.kernel_id);
  EXPECT_EQ(first.cost_slot, again.cost_slot);
  EXPECT_NE(first.cost_slot, other.cost_slot);
}

TEST_F(GraphCostsTest, given_a_cost_from_the_daemon_then_the_graph_is_charged_by_it) {
  fake().graphs[graph(1)] = {kernel(1, f_, 100)};
  const CUgraphExec exec = instantiate(graph(1));
  segment().costs.cost_ns[launched(exec).cost_slot] = 55'000;
  EXPECT_EQ(launched(exec).cost_ns, 55'000u);
}

TEST_F(GraphCostsTest, given_a_graph_of_itself_then_the_walk_ends) {
  fake().graphs[graph(1)] = {child(4, graph(1))};
  EXPECT_EQ(cost_of(graph(1)), kSmallNodeNs);
}

TEST_F(GraphCostsTest, given_more_nodes_than_are_kept_then_all_are_counted) {
  constexpr uint32_t kNodes = NodeList::kMost + 1000;
  for (uint32_t i = 1; i <= kNodes; ++i) fake().graphs[graph(1)].push_back(node(i));
  EXPECT_EQ(cost_of(graph(1)), kNodes * kSmallNodeNs);
}

TEST_F(GraphCostsTest, given_a_destroyed_or_unseen_exec_then_it_costs_the_unknown_graphs_price) {
  fake().graphs[graph(1)] = {kernel(1, f_, 100)};
  const CUgraphExec exec = instantiate(graph(1));
  gacer_hook_cuGraphExecDestroy(exec);
  EXPECT_EQ(launched(exec).cost_ns, kUnknownGraphNs);
}

TEST_F(GraphCostsTest, given_an_exec_of_a_handle_used_before_then_nothing_is_inherited) {
  fake().graphs[graph(1)] = {kernel(1, f_, 100), kernel(2, f_, 100)};
  fake().graphs[graph(2)] = {kernel(3, f_, 100)};
  const CUgraphExec exec = instantiate(graph(1));
  fake().next_handle -= 0x1000;  // destroyed unseen
  ASSERT_EQ(instantiate(graph(2)), exec);
  EXPECT_EQ(launched(exec).cost_ns, kLeastNs);
}

TEST_F(GraphCostsTest, given_a_graph_instantiated_before_attaching_then_its_cost_is_known) {
  shim().session.publish(nullptr);
  fake().graphs[graph(1)] = {kernel(1, f_, 100), kernel(2, f_, 100)};
  const CUgraphExec exec = instantiate(graph(1));
  shim().session.publish(attachment_);
  EXPECT_EQ(launched(exec).cost_ns, 2 * kLeastNs);
}

TEST_F(GraphCostsTest, given_a_driver_before_cuda_12_then_kernels_are_read_in_the_old_form) {
  fake().new_node_params_result = CUDA_ERROR_NOT_SUPPORTED;
  fake().graphs[graph(1)] = {kernel(1, f_, 40'000)};
  const uint32_t old_ns = cost_of(graph(1));
  EXPECT_GT(old_ns, kLeastNs);
  fake().new_node_params_result = CUDA_SUCCESS;
  EXPECT_EQ(cost_of(graph(1)), old_ns);
}

TEST_F(GraphCostsTest, given_a_program_whose_every_graph_differs_then_kernels_keep_their_slots) {
  for (unsigned i = 1; i <= kMostGraphSlots + 10; ++i) {
    fake().graphs[graph(1)] = {kernel(1, f_, i)};
    const CUgraphExec exec = instantiate(graph(1));
    const shm::LaunchEntry entry = launched(exec);
    EXPECT_EQ(entry.cost_slot == abi::kNoCostSlot, i > kMostGraphSlots);
    gacer_hook_cuGraphExecDestroy(exec);
  }
  const CUfunction gemm = get_function("gemm");
  launch(two_, gemm);
  shm::LaunchEntry entry;
  ASSERT_TRUE(next_record(entry));
  EXPECT_NE(entry.cost_slot, abi::kNoCostSlot);
}

// -- conditional nodes ----------------------------------------------------------------------------

class ConditionalTest : public test::GraphFixture {
 protected:
  CUgraphNode conditional(uintptr_t number, CUgraph in) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.size = 2;
    params.conditional.phGraph_out = bodies_;
    CUgraphNode added = other(number, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    EXPECT_EQ(gacer_hook_cuGraphAddNode_v2(&added, in, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
    fake().graphs[in].push_back(added);
    return added;
  }
  GraphCost cost(CUgraph from) {
    return shim().graphs.find(reinterpret_cast<uint64_t>(instantiate(from)));
  }
  CUgraph bodies_[2] = {graph(50), graph(51)};
};

TEST_F(ConditionalTest, given_a_conditional_node_then_its_bodies_count_once_and_are_flagged) {
  conditional(20, graph(1));
  fake().graphs[graph(50)] = {kernel(1, f_, 100)};
  fake().graphs[graph(51)] = {kernel(2, f_, 100), kernel(3, f_, 100)};
  EXPECT_EQ(cost(graph(1)).guess_ns, kSmallNodeNs + 3 * kLeastNs);
  EXPECT_TRUE(cost(graph(1)).inexact);
}

TEST_F(ConditionalTest, given_no_conditional_then_the_cost_is_not_flagged) {
  fake().graphs[graph(1)] = {kernel(1, f_, 100)};
  EXPECT_FALSE(cost(graph(1)).inexact);
}

TEST_F(ConditionalTest,
       given_a_conditional_node_added_unseen_then_it_counts_little_and_is_flagged) {
  fake().graphs[graph(1)] = {other(20, CU_GRAPH_NODE_TYPE_CONDITIONAL)};
  EXPECT_EQ(cost(graph(1)).guess_ns, kSmallNodeNs);
  EXPECT_TRUE(cost(graph(1)).inexact);
}

TEST_F(ConditionalTest, given_destroyed_graphs_or_nodes_then_their_bodies_are_never_looked_at) {
  for (const bool whole_graph : {true, false}) {
    fake().graphs.clear();
    const CUgraphNode node = conditional(20, graph(1));
    fake().graphs[graph(50)] = {kernel(1, f_, 100)};
    if (whole_graph)
      gacer_hook_cuGraphDestroy(graph(1));
    else
      gacer_hook_cuGraphDestroyNode(node);
    EXPECT_EQ(cost(graph(1)).guess_ns, kSmallNodeNs);
  }
}

}  // namespace
}  // namespace gacer::interpose
