// SPDX-License-Identifier: Apache-2.0
#include "interpose/graph_costs.h"

#include <algorithm>
#include <cstdlib>

#include "interpose/driver.h"

namespace gacer::interpose {
namespace {

constexpr int kDeepestChild = 8;
constexpr uint64_t kMostGraphNs = 1'000'000'000;

struct Sum {
  uint64_t cost_ns = 0;
  uint64_t id = 0x67726170;  // any start: an empty graph has an identity too
};

void add_kernel(CUgraphNode node, KernelRegistry& kernels, const DeviceFacts& device, Sum& sum) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  if (driver().cuGraphKernelNodeGetParams_v2(node, &params) != CUDA_SUCCESS) {
    sum.cost_ns += kSmallNodeNs;
    return;
  }
  LaunchShape shape{};
  const uint64_t handle = params.func != nullptr ? reinterpret_cast<uint64_t>(params.func)
                                                 : reinterpret_cast<uint64_t>(params.kern);
  shape.kernel = kernels.find_kernel(handle).facts;
  const uint32_t grid[] = {params.gridDimX, params.gridDimY, params.gridDimZ};
  const uint32_t block[] = {params.blockDimX, params.blockDimY, params.blockDimZ};
  std::copy_n(grid, 3, shape.grid);
  std::copy_n(block, 3, shape.block);
  const uint64_t kernel_id = shape.kernel != nullptr ? shape.kernel->id : 1;
  sum.id = mix_bits(mix_bits(sum.id ^ kernel_id) ^ shape.blocks());
  sum.cost_ns += guess_cost_ns(shape, device);
}

void add_graph(CUgraph graph, int depth, KernelRegistry& kernels, const DeviceFacts& device,
               Sum& sum);

void add_node(CUgraphNode node, int depth, KernelRegistry& kernels, const DeviceFacts& device,
              Sum& sum) {
  const DriverTable& real = driver();
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  real.cuGraphNodeGetType(node, &type);
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) return add_kernel(node, kernels, device, sum);
  CUgraph child = nullptr;
  if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
      real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
    return add_graph(child, depth + 1, kernels, device, sum);
  sum.id = mix_bits(sum.id ^ static_cast<uint64_t>(type));
  const bool works = type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET ||
                     type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
  if (works) sum.cost_ns += kSmallNodeNs;
}

void add_graph(CUgraph graph, int depth, KernelRegistry& kernels, const DeviceFacts& device,
               Sum& sum) {
  const DriverTable& real = driver();
  size_t count = 0;
  if (depth > kDeepestChild || real.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return;
  auto* nodes = static_cast<CUgraphNode*>(calloc(std::max<size_t>(count, 1), sizeof(CUgraphNode)));
  if (nodes == nullptr) return;
  if (real.cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS)
    for (size_t i = 0; i < count; ++i) add_node(nodes[i], depth, kernels, device, sum);
  free(nodes);
}

}  // namespace

void GraphCosts::instantiated(CUgraphExec exec, CUgraph graph, KernelRegistry& kernels,
                              const DeviceFacts& device) {
  Sum sum;
  add_graph(graph, 0, kernels, device, sum);
  const uint64_t guess_ns = std::clamp<uint64_t>(sum.cost_ns, kSmallNodeNs, kMostGraphNs);
  // The graph takes a cost slot of its own, as a kernel of that identity would.
  const uint32_t slot = kernels.slot_of_graph(sum.id | 1, static_cast<uint32_t>(guess_ns));
  const auto key = reinterpret_cast<uint64_t>(exec);
  const SpinGuard guard(lock_);
  ids_.set(key, sum.id | 1);
  guesses_.set(key, guess_ns);
  slots_.set(key, uint64_t{slot} + 1);
}

void GraphCosts::destroyed(CUgraphExec exec) {
  const auto key = reinterpret_cast<uint64_t>(exec);
  const SpinGuard guard(lock_);
  uint64_t value = 0;
  ids_.take(key, value);
  guesses_.take(key, value);
  slots_.take(key, value);
}

GraphCost GraphCosts::find(uint64_t exec) {
  const SpinGuard guard(lock_);
  GraphCost cost;
  const uint64_t* id = ids_.find(exec);
  const uint64_t* guess = guesses_.find(exec);
  const uint64_t* slot = slots_.find(exec);
  if (id == nullptr || guess == nullptr || slot == nullptr) return cost;
  return {*id, static_cast<uint32_t>(*slot - 1), static_cast<uint32_t>(*guess)};
}

void GraphCosts::reset() {
  lock_.unlock();
  ids_.clear();
  guesses_.clear();
  slots_.clear();
}

}  // namespace gacer::interpose
