// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_graphs.h"

#include <algorithm>
#include <cstdlib>

#include "interpose/driver.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

constexpr int kDeviceShift = 56;
constexpr uint64_t kBytesMask = (uint64_t{1} << kDeviceShift) - 1;
constexpr int kDeepest = 8;  // child graphs in child graphs

struct Wanted {
  uint64_t bytes = 0;
  CUdevice device = -1;
};

void add_nodes(CUgraph graph, Wanted& wanted, int depth);

void add_node(CUgraphNode node, Wanted& wanted, int depth) {
  const DriverTable& real = driver();
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (real.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return;
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
    CUgraph child = nullptr;
    if (real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
      add_nodes(child, wanted, depth + 1);
  }
  if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  if (real.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS) return;
  if (params.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return;
  wanted.bytes = std::min(wanted.bytes + params.bytesize, kBytesMask);
  wanted.device = params.poolProps.location.id;
}

void add_nodes(CUgraph graph, Wanted& wanted, int depth) {
  size_t count = 0;
  if (depth > kDeepest || driver().cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return;
  if (count == 0) return;
  auto* nodes = static_cast<CUgraphNode*>(calloc(count, sizeof(CUgraphNode)));
  if (nodes != nullptr && driver().cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS)
    for (size_t i = 0; i < count; ++i) add_node(nodes[i], wanted, depth);
  free(nodes);
}

uint64_t attribute(uint32_t device, CUgraphMem_attribute which, uint64_t unknown) {
  cuuint64_t bytes = 0;
  const auto ordinal = static_cast<CUdevice>(device);
  const CUresult result = driver().cuDeviceGetGraphMemAttribute(ordinal, which, &bytes);
  return result == CUDA_SUCCESS ? bytes : unknown;
}

}  // namespace

void MemoryGraphs::instantiated(CUgraphExec exec, CUgraph graph) {
  Wanted wanted;
  add_nodes(graph, wanted, 0);
  const uint32_t device = wanted.bytes == 0 ? kNoDevice : ledger_.devices().index_of(wanted.device);
  const SleepGuard guard(lock_);
  uint64_t old = 0;
  graphs_.take(reinterpret_cast<uint64_t>(exec), old);
  if (device == kNoDevice) return;
  graphs_.set(reinterpret_cast<uint64_t>(exec), uint64_t{device} << kDeviceShift | wanted.bytes);
  in_use_.store(true, std::memory_order_relaxed);
}

void MemoryGraphs::destroyed(CUgraphExec exec) {
  if (!in_use_.load(std::memory_order_relaxed)) return;
  const SleepGuard guard(lock_);
  uint64_t value = 0;
  graphs_.take(reinterpret_cast<uint64_t>(exec), value);
}

// What `wanted` takes beyond the free part of the device's reserve. Caller holds lock_.
bool MemoryGraphs::reserve_beyond(uint32_t device, uint64_t wanted, uint64_t& more) {
  const uint64_t all = attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, 0);
  const uint64_t used = attribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, all);
  const uint64_t room = all > used ? all - used : 0;
  more = wanted > room ? wanted - room : 0;
  return more == 0 || ledger_.reserve(device, more);
}

// Caller holds lock_.
void MemoryGraphs::make_room(uint32_t device) {
  if (shim().captures.any()) return;
  driver().cuDeviceGraphMemTrim(static_cast<CUdevice>(device));
  read(device, 0);
  shim().pools.make_room(device);
}

bool MemoryGraphs::admit(CUgraphExec exec, Admission& admission) {
  if (!any()) return true;
  const SleepGuard guard(lock_);
  const uint64_t* found = graphs_.find(reinterpret_cast<uint64_t>(exec));
  if (found == nullptr) return true;
  const auto device = static_cast<uint32_t>(*found >> kDeviceShift);
  const uint64_t wanted = *found & kBytesMask;
  admission.device = device;
  if (reserve_beyond(device, wanted, admission.bytes)) return true;
  make_room(device);
  return reserve_beyond(device, wanted, admission.bytes);
}

// Makes the charge what the driver has reserved; `reserved` is already with the ledger. Caller
// holds lock_.
void MemoryGraphs::read(uint32_t device, uint64_t reserved) {
  uint64_t& charged = charged_bytes_[device];
  const uint64_t counted = charged + reserved;
  charged = attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, counted);
  if (charged < counted) ledger_.cancel(device, counted - charged);
  if (charged > counted) ledger_.force(device, charged - counted);
}

void MemoryGraphs::settle(const Admission& admission) {
  if (admission.device == kNoDevice) return;
  const SleepGuard guard(lock_);
  read(admission.device, admission.bytes);
}

void MemoryGraphs::changed(CUdevice device) {
  if (!in_use_.load(std::memory_order_relaxed)) return;
  const uint32_t index = ledger_.devices().index_of(device);
  if (index == kNoDevice) return;
  const SleepGuard guard(lock_);
  read(index, 0);
}

void MemoryGraphs::reset() {
  lock_.force_open();
  graphs_.clear();
  in_use_.store(false, std::memory_order_relaxed);
  for (uint64_t& bytes : charged_bytes_) bytes = 0;
}

}  // namespace gacer::interpose
