// SPDX-License-Identifier: Apache-2.0
// A program with graphs: nodes and graphs are numbers, and a node is what a test makes it.
#pragma once

#include "interpose/graph_costs.h"
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::test {

class GraphFixture : public LaunchFixture {
 protected:
  void SetUp() override { decide(segment(), abi::GateMode::kUngated, 0, true, 1); }

  static CUgraphNode node(uintptr_t number) { return reinterpret_cast<CUgraphNode>(number * 16); }
  static CUgraph graph(uintptr_t number) { return reinterpret_cast<CUgraph>(number * 16); }

  static CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction function, unsigned blocks) {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = function;
    params.gridDimX = blocks;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = 100;
    params.sharedMemBytes = 64;  // as launch() has it
    return params;
  }
  static CUgraphNode kernel(uintptr_t number, CUfunction function, unsigned blocks) {
    fake().kernel_nodes[node(number)] = kernel_params(function, blocks);
    return node(number);
  }
  static CUgraphNode copy(uintptr_t number, size_t bytes) {
    CUDA_MEMCPY3D params{};
    params.WidthInBytes = bytes;
    params.Height = params.Depth = 1;
    fake().copy_nodes[node(number)] = params;
    return node(number);
  }
  static CUgraphNode memset_of(uintptr_t number, size_t elements) {
    CUDA_MEMSET_NODE_PARAMS params{};
    params.elementSize = 4;
    params.width = elements;
    params.height = 1;
    fake().memset_nodes[node(number)] = params;
    return node(number);
  }
  static CUgraphNode child(uintptr_t number, CUgraph of) {
    fake().child_nodes[node(number)] = of;
    return node(number);
  }
  static CUgraphNode other(uintptr_t number, CUgraphNodeType type) {
    fake().other_nodes[node(number)] = type;
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
  uint32_t cost_of(CUgraph from) { return launched(instantiate(from)).cost_ns; }

  const CUfunction f_ = function_number(1);
};

}  // namespace gacer::test
