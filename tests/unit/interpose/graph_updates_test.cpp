// SPDX-License-Identifier: Apache-2.0
// Executable graphs that change after they were made: their cost is that of what they hold now.
#include "tests/unit/interpose/graph_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake;

class GraphUpdatesTest : public test::GraphFixture {
 protected:
  void SetUp() override {
    GraphFixture::SetUp();
    fake().graphs[graph(2)] = {kernel(3, f_, 100)};
    fake().graphs[graph(1)] = {kernel(1, f_, 100), kernel(2, f_, 100), child(4, graph(2)),
                               copy(5, 0), memset_of(6, 0)};
    exec_ = instantiate(graph(1));
    before_ = launched(exec_);
    EXPECT_EQ(before_.cost_ns, kBefore);
  }
  uint32_t cost() { return launched(exec_).cost_ns; }
  // A kernel of this many blocks costs so much.
  uint32_t big_kernel_ns() {
    launch(two_, f_, kBig);
    shm::LaunchEntry entry;
    EXPECT_TRUE(next_record(entry));
    EXPECT_GT(entry.cost_ns, kLeastNs);
    return entry.cost_ns;
  }

  static constexpr unsigned kBig = 50'000;
  static constexpr uint32_t kBefore = 3 * kLeastNs + 2 * kSmallNodeNs;
  CUgraphExec exec_ = nullptr;
  shm::LaunchEntry before_;
};

TEST_F(GraphUpdatesTest, given_a_kernel_node_set_then_the_cost_is_the_new_kernels) {
  const CUDA_KERNEL_NODE_PARAMS params = kernel_params(f_, kBig);
  gacer_hook_cuGraphExecKernelNodeSetParams_v2(exec_, node(2), &params);
  EXPECT_EQ(cost(), kBefore - kLeastNs + big_kernel_ns());
}

TEST_F(GraphUpdatesTest, given_a_kernel_node_set_in_the_old_form_then_the_same) {
  CUDA_KERNEL_NODE_PARAMS_v1 params{};
  params.func = f_;
  params.gridDimX = kBig;
  params.blockDimX = 100;
  params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
  gacer_hook_cuGraphExecKernelNodeSetParams(exec_, node(2), &params);
  EXPECT_EQ(cost(), kBefore - kLeastNs + big_kernel_ns());
}

TEST_F(GraphUpdatesTest, given_only_arguments_set_then_identity_and_slot_stay) {
  CUDA_KERNEL_NODE_PARAMS params = kernel_params(f_, 100);
  void* arguments[1] = {};
  params.kernelParams = arguments;
  for (const uintptr_t number : {1, 2})
    gacer_hook_cuGraphExecKernelNodeSetParams_v2(exec_, node(number), &params);
  const shm::LaunchEntry after = launched(exec_);
  EXPECT_EQ(after.kernel_id, before_.kernel_id);
  EXPECT_EQ(after.cost_slot, before_.cost_slot);
}

TEST_F(GraphUpdatesTest, given_a_node_below_a_child_set_then_its_cost_changes_too) {
  const CUDA_KERNEL_NODE_PARAMS params = kernel_params(f_, kBig);
  gacer_hook_cuGraphExecKernelNodeSetParams_v2(exec_, node(3), &params);
  EXPECT_EQ(cost(), kBefore - kLeastNs + big_kernel_ns());
}

TEST_F(GraphUpdatesTest, given_copies_and_memsets_set_then_their_new_bytes_count) {
  CUDA_MEMCPY3D copied{};
  copied.WidthInBytes = 3'000'000;
  gacer_hook_cuGraphExecMemcpyNodeSetParams(exec_, node(5), &copied, nullptr);
  EXPECT_EQ(cost(), kBefore + 3'000);
  CUDA_MEMSET_NODE_PARAMS filled{};
  filled.elementSize = 1;
  filled.height = 1;
  filled.width = 7'000'000;
  gacer_hook_cuGraphExecMemsetNodeSetParams(exec_, node(6), &filled, nullptr);
  EXPECT_EQ(cost(), kBefore + 10'000);
}

TEST_F(GraphUpdatesTest, given_a_child_graph_set_then_its_nodes_replace_the_old_ones) {
  fake().graphs[graph(3)] = {kernel(7, f_, 100), kernel(8, f_, 100), kernel(9, f_, 100)};
  gacer_hook_cuGraphExecChildGraphNodeSetParams(exec_, node(4), graph(3));
  EXPECT_EQ(cost(), kBefore + 2 * kLeastNs);
}

TEST_F(GraphUpdatesTest, given_nodes_set_by_the_general_call_then_all_kinds_count) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = f_;
  params.kernel.gridDimX = kBig;
  params.kernel.blockDimX = 100;
  params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  gacer_hook_cuGraphExecNodeSetParams(exec_, node(1), &params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy.copyParams.WidthInBytes = 5'000'000;
  gacer_hook_cuGraphExecNodeSetParams(exec_, node(5), &params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset.elementSize = 2;
  params.memset.width = 500'000;
  gacer_hook_cuGraphExecNodeSetParams(exec_, node(6), &params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_HOST;
  gacer_hook_cuGraphExecNodeSetParams(exec_, node(2), &params);
  EXPECT_EQ(cost(), kBefore - kLeastNs + big_kernel_ns() + 6'000);
}

TEST_F(GraphUpdatesTest, given_a_node_switched_off_and_on_then_it_costs_only_while_on) {
  gacer_hook_cuGraphNodeSetEnabled(exec_, node(1), 0);
  EXPECT_EQ(cost(), kBefore - kLeastNs);
  gacer_hook_cuGraphNodeSetEnabled(exec_, node(1), 1);
  const shm::LaunchEntry after = launched(exec_);
  EXPECT_EQ(after.cost_ns, kBefore);
  EXPECT_EQ(after.kernel_id, before_.kernel_id);
}

TEST_F(GraphUpdatesTest, given_an_update_from_another_graph_then_its_nodes_count) {
  fake().graphs[graph(9)] = {kernel(11, f_, kBig), kernel(12, f_, 100), child(14, graph(2)),
                             copy(15, 0), memset_of(16, 0)};
  gacer_hook_cuGraphExecUpdate_v2(exec_, graph(9), nullptr);
  EXPECT_EQ(cost(), kBefore - kLeastNs + big_kernel_ns());
  // The program goes on naming the nodes of the graph that it instantiated.
  const CUDA_KERNEL_NODE_PARAMS params = kernel_params(f_, 100);
  gacer_hook_cuGraphExecKernelNodeSetParams_v2(exec_, node(1), &params);
  EXPECT_EQ(cost(), kBefore);
  gacer_hook_cuGraphExecUpdate(exec_, graph(9), nullptr, nullptr);
  EXPECT_EQ(cost(), kBefore - kLeastNs + big_kernel_ns());
}

TEST_F(GraphUpdatesTest, given_a_call_that_fails_then_nothing_changes) {
  fake().update_result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  fake().graphs[graph(9)] = {kernel(11, f_, kBig)};
  EXPECT_EQ(gacer_hook_cuGraphExecUpdate_v2(exec_, graph(9), nullptr),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(cost(), kBefore);
}

TEST_F(GraphUpdatesTest, given_calls_for_unknown_execs_and_nodes_then_they_only_pass) {
  const auto unknown = reinterpret_cast<CUgraphExec>(uintptr_t{0x9990});
  const CUDA_KERNEL_NODE_PARAMS params = kernel_params(f_, kBig);
  EXPECT_EQ(gacer_hook_cuGraphExecKernelNodeSetParams_v2(unknown, node(1), &params), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuGraphExecKernelNodeSetParams_v2(exec_, node(99), &params), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuGraphExecKernelNodeSetParams_v2(exec_, node(1), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuGraphExecUpdate_v2(unknown, graph(1), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuGraphNodeSetEnabled(unknown, node(1), 0), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuGraphExecNodeSetParams(exec_, node(1), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cost(), kBefore);
}

}  // namespace
}  // namespace gacer::interpose
