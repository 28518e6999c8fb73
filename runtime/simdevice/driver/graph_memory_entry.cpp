// SPDX-License-Identifier: Apache-2.0
// cuGraphAddMem{Alloc,Free}Node, cuDevice*GraphMem*
#include <memory>

#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_handles.h"
#include "runtime/simdevice/driver/graph_memory.h"

using namespace gacer::simdriver;

namespace {

CUresult check_params(const CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr || params->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUmemPoolProps& props = params->poolProps;
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      props.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      props.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      check_device(props.location.id) != CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_VALUE;
  if (params->accessDescCount > Driver::get().devices().size() ||
      (params->accessDescCount > 0 && params->accessDescs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < params->accessDescCount; ++i) {
    const CUmemAccessDesc& wanted = params->accessDescs[i];
    if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        check_device(wanted.location.id) != CUDA_SUCCESS)
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

bool kind_of(CUgraphMem_attribute attribute, GraphMemories::Kind& kind, bool& highest) {
  highest = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
            attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      kind = GraphMemories::Kind::kUsed;
      return true;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      kind = GraphMemories::Kind::kReserved;
      return true;
    default:
      return false;
  }
}

}  // namespace

CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  SIM_TRY(check_params(params));
  std::shared_ptr<GraphMemory> memory;
  SIM_TRY(graph_memories().make(*params, *graph, memory));
  const uint64_t address = memory->address;
  SIM_TRY(add_graph_node(out, handle, dependencies, count, MemAllocWork{std::move(memory)}));
  params->dptr = address;
  return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  const std::lock_guard lock(graph_lock());
  const auto* work = std::get_if<MemAllocWork>(&node->work);
  if (out == nullptr || work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphMemory& memory = *work->memory;
  *out = {memory.props, memory.access.data(), memory.access.size(), memory.bytes, memory.address};
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(graph_lock());
  Work work;
  SIM_TRY(make_free_work(*graph, address, work));
  SIM_TRY(add_graph_node(out, handle, dependencies, count, std::move(work)));
  note_free_node(*graph, address);
  return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* out) {
  std::shared_ptr<GraphNode> node;
  SIM_TRY(find_node(handle, node));
  const std::lock_guard lock(graph_lock());
  const auto* work = std::get_if<MemFreeWork>(&node->work);
  if (out == nullptr || work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->memory->address;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  SIM_TRY(check_device(device));
  graph_memories().trim(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  SIM_TRY(check_device(device));
  GraphMemories::Kind kind{};
  bool highest = false;
  if (value == nullptr || !kind_of(attribute, kind, highest)) return CUDA_ERROR_INVALID_VALUE;
  const GraphMemories::Figure figure = graph_memories().figure(device, kind);
  *static_cast<cuuint64_t*>(value) = highest ? figure.highest : figure.current;
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  SIM_TRY(check_device(device));
  GraphMemories::Kind kind{};
  bool highest = false;
  if (value == nullptr || !kind_of(attribute, kind, highest) || !highest ||
      *static_cast<cuuint64_t*>(value) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  graph_memories().reset_highest(device, kind);
  return CUDA_SUCCESS;
}
