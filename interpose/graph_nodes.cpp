// SPDX-License-Identifier: Apache-2.0
#include "interpose/graph_nodes.h"

#include <utility>

#include "interpose/graph_walk.h"

namespace gacer::interpose {
namespace {

// Without the kernel: its address differs from process to process.
uint64_t hash_dimensions(const LaunchShape& shape) {
  uint64_t hash = shape.dynamic_smem_bytes;
  for (int i = 0; i < 3; ++i)
    hash = mix_bits(hash ^ (uint64_t{shape.grid[i]} << 32 | shape.block[i]));
  return hash;
}

NodeCost kernel_cost(const LaunchShape& shape, uint32_t cost_slot, const DeviceFacts& device) {
  const uint64_t kernel_id = shape.kernel != nullptr ? shape.kernel->id : 1;
  NodeCost cost{};
  cost.id = mix_bits(mix_bits(kernel_id) ^ hash_dimensions(shape)) | 1;
  cost.cost_slot = cost_slot;
  cost.guess_ns = guess_cost_ns(shape, device);
  return cost;
}

template <typename Params>
NodeCost price_kernel(const Params& params, uint64_t first_handle, uint64_t second_handle,
                      const NodePricing& pricing) {
  LaunchShape shape{};
  shape.kernel = pricing.kernels.find_kernel(first_handle).facts;
  if (shape.kernel == nullptr && second_handle != 0)
    shape.kernel = pricing.kernels.find_kernel(second_handle).facts;
  const uint32_t grid[] = {params.gridDimX, params.gridDimY, params.gridDimZ};
  const uint32_t block[] = {params.blockDimX, params.blockDimY, params.blockDimZ};
  std::copy_n(grid, 3, shape.grid);
  std::copy_n(block, 3, shape.block);
  shape.dynamic_smem_bytes = params.sharedMemBytes;
  const uint32_t slot =
      shape.kernel != nullptr ? pricing.kernels.find_shape(shape) : abi::kNoCostSlot;
  return kernel_cost(shape, slot, pricing.device);
}

NodeCost transfer_cost(CUgraphNodeType type, uint64_t bytes) {
  NodeCost cost{};
  cost.id = mix_bits(bytes ^ mix_bits(static_cast<uint64_t>(type) + 1)) | 1;
  cost.cost_slot = abi::kNoCostSlot;
  cost.guess_ns = static_cast<uint32_t>(
      std::min<uint64_t>(kSmallNodeNs + bytes / kNodeBytesPerNs, kMostGraphNs));
  return cost;
}

uint64_t bytes_of(uint64_t width, uint64_t height, uint64_t depth) {
  uint64_t area = 0;
  uint64_t volume = 0;
  const bool wild = __builtin_mul_overflow(width, std::max<uint64_t>(height, 1), &area) ||
                    __builtin_mul_overflow(area, std::max<uint64_t>(depth, 1), &volume);
  return wild ? UINT64_MAX : volume;
}

template <typename Params>
NodeCost price_memset(const Params& params) {
  return transfer_cost(CU_GRAPH_NODE_TYPE_MEMSET,
                       bytes_of(params.width, params.height, params.elementSize));
}

// False: the driver does not say.
bool price_kernel_node(CUgraphNode node, const NodePricing& pricing, NodeCost& cost) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  if (driver().cuGraphKernelNodeGetParams_v2(node, &params) == CUDA_SUCCESS) {
    cost = price_node(params, pricing);
    return true;
  }
  CUDA_KERNEL_NODE_PARAMS_v1 old{};
  if (driver().cuGraphKernelNodeGetParams(node, &old) != CUDA_SUCCESS) return false;
  cost = price_node(old, pricing);
  return true;
}

bool price_by_type(CUgraphNode node, CUgraphNodeType type, const NodePricing& pricing,
                   NodeCost& cost) {
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) return price_kernel_node(node, pricing, cost);
  if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    CUDA_MEMCPY3D params{};
    if (driver().cuGraphMemcpyNodeGetParams(node, &params) != CUDA_SUCCESS) return false;
    cost = price_node(params, pricing);
    return true;
  }
  CUDA_MEMSET_NODE_PARAMS_v1 params{};
  if (driver().cuGraphMemsetNodeGetParams(node, &params) != CUDA_SUCCESS) return false;
  cost = price_node(params, pricing);
  return true;
}

class Walk {
 public:
  Walk(const NodePricing& pricing, NodeList& list) : pricing_(pricing), list_(list) {}

  void graph(CUgraph graph, CUgraphNode root, int depth) {
    if (depth > kDeepestGraph) return;
    for_each_node(graph,
                  [&](CUgraphNode node) { visit(node, root != nullptr ? root : node, depth); });
  }

 private:
  void visit(CUgraphNode node, CUgraphNode root, int depth) {
    const CUgraphNodeType type = node_type(node);
    CUgraph child = nullptr;
    switch (type) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
      case CU_GRAPH_NODE_TYPE_MEMCPY:
      case CU_GRAPH_NODE_TYPE_MEMSET:
        return work(node, root, type);
      case CU_GRAPH_NODE_TYPE_GRAPH:
        if (child_graph(node, child)) graph(child, root, depth + 1);
        return;
      case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return conditional(node, root, depth);
      default:
        return;
    }
  }

  void work(CUgraphNode node, CUgraphNode root, CUgraphNodeType type) {
    NodeCost cost = transfer_cost(type, 0);
    if (!price_by_type(node, type, pricing_, cost)) list_.inexact = true;
    add(cost, node, root);
  }

  void conditional(CUgraphNode node, CUgraphNode root, int depth) {
    list_.inexact = true;
    add(transfer_cost(CU_GRAPH_NODE_TYPE_CONDITIONAL, 0), node, root);
    const CUgraph* bodies = nullptr;
    unsigned count = 0;
    if (!pricing_.conditionals.find(node, bodies, count)) return;
    for (unsigned i = 0; i < count; ++i) graph(bodies[i], root, depth + 1);
  }

  void add(NodeCost cost, CUgraphNode node, CUgraphNode root) {
    cost.node = node;
    cost.root = root;
    cost.enabled = true;
    list_.add(cost);
  }

  const NodePricing& pricing_;
  NodeList& list_;
};

}  // namespace

NodeList::~NodeList() {
  free(nodes_);
}

NodeList::NodeList(NodeList&& other) noexcept {
  *this = std::move(other);
}

NodeList& NodeList::operator=(NodeList&& other) noexcept {
  std::swap(nodes_, other.nodes_);
  std::swap(count_, other.count_);
  std::swap(capacity_, other.capacity_);
  std::swap(next_search_, other.next_search_);
  std::swap(rest_ns_, other.rest_ns_);
  std::swap(rest_id_, other.rest_id_);
  std::swap(inexact, other.inexact);
  return *this;
}

bool NodeList::grow() {
  const uint32_t wanted = capacity_ == 0 ? 16 : capacity_ * 2;
  if (wanted > kMost) return false;
  auto* nodes = static_cast<NodeCost*>(realloc(nodes_, wanted * sizeof(NodeCost)));
  if (nodes == nullptr) return false;
  nodes_ = nodes;
  capacity_ = wanted;
  return true;
}

void NodeList::add(const NodeCost& node) {
  if (count_ == capacity_ && !grow()) {
    rest_ns_ += node.guess_ns;
    rest_id_ += node.id;
    return;
  }
  nodes_[count_++] = node;
}

void NodeList::remove_below(CUgraphNode root) {
  NodeCost* const kept =
      std::remove_if(begin(), end(), [&](const NodeCost& node) { return node.root == root; });
  count_ = static_cast<uint32_t>(kept - begin());
}

// Programs that set nodes mostly do so in their order: the search goes on where the last one ended.
NodeCost* NodeList::find(CUgraphNode node) {
  for (uint32_t i = 0; i < count_; ++i) {
    const uint32_t at = (next_search_ + i) % count_;
    if (nodes_[at].node != node) continue;
    next_search_ = at + 1;
    return &nodes_[at];
  }
  return nullptr;
}

NodeCost price_node(const CUDA_KERNEL_NODE_PARAMS_v1& params, const NodePricing& pricing) {
  return price_kernel(params, reinterpret_cast<uint64_t>(params.func), 0, pricing);
}
NodeCost price_node(const CUDA_KERNEL_NODE_PARAMS_v2& params, const NodePricing& pricing) {
  return price_kernel(params, reinterpret_cast<uint64_t>(params.func),
                      reinterpret_cast<uint64_t>(params.kern), pricing);
}
NodeCost price_node(const CUDA_KERNEL_NODE_PARAMS_v3& params, const NodePricing& pricing) {
  return price_kernel(params, reinterpret_cast<uint64_t>(params.func),
                      reinterpret_cast<uint64_t>(params.kern), pricing);
}
NodeCost price_node(const CUDA_MEMCPY3D& params, const NodePricing&) {
  return transfer_cost(CU_GRAPH_NODE_TYPE_MEMCPY,
                       bytes_of(params.WidthInBytes, params.Height, params.Depth));
}
NodeCost price_node(const CUDA_MEMSET_NODE_PARAMS_v1& params, const NodePricing&) {
  return price_memset(params);
}
NodeCost price_node(const CUDA_MEMSET_NODE_PARAMS_v2& params, const NodePricing&) {
  return price_memset(params);
}

void list_nodes(CUgraph graph, CUgraphNode root, const NodePricing& pricing, NodeList& list) {
  Walk(pricing, list).graph(graph, root, 0);
}

}  // namespace gacer::interpose
