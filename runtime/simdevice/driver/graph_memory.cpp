// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph_memory.h"

#include <algorithm>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/faults.h"
#include "runtime/simdevice/driver/virtual_memory.h"

namespace gacer::simdriver {
namespace {

using simdevice::PhysicalMsg;
using simdevice::SimType;

PhysicalMsg message_for(SimType type, const GraphMemory& memory) {
  auto message = make_message<PhysicalMsg>(type);
  message.handle = memory.server_handle;
  message.address = memory.address;
  message.bytes = memory.reserved_bytes();
  message.location = Driver::get().index_of(memory.device());
  message.access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return message;
}

Reply ask(const PhysicalMsg& message) {
  return Driver::get().link().request(message);
}

void remember(const GraphMemory& memory) {
  Allocation allocation;
  allocation.base = memory.address;
  allocation.bytes = memory.bytes;
  allocation.kind = MemoryKind::kGraph;
  allocation.context_id = kNoContext;
  allocation.device = memory.device();
  allocation.buffer_id = Driver::get().next_unique_id();
  Driver::get().memory.add(allocation);
}

bool idle(const GraphMemory& memory) {
  return memory.counter == nullptr ||
         Driver::get().link().stream_done(memory.counter->id, memory.seq);
}

}  // namespace

uint64_t GraphMemory::reserved_bytes() const {
  constexpr uint64_t kStep = simdevice::kPhysicalGranularity;
  return (bytes + kStep - 1) / kStep * kStep;
}

GraphMemory::~GraphMemory() {
  if (address != 0) graph_memories().forget(*this);
}

GraphMemories& graph_memories() {
  static GraphMemories& all = *new GraphMemories;
  return all;
}

CUresult GraphMemories::make(const CUDA_MEM_ALLOC_NODE_PARAMS& params, const Graph& owner,
                             std::shared_ptr<GraphMemory>& out) {
  auto memory = std::make_shared<GraphMemory>();
  memory->bytes = params.bytesize;
  memory->props = params.poolProps;
  memory->access.assign(params.accessDescs, params.accessDescs + params.accessDescCount);
  memory->owner = &owner;
  uint64_t address = 0;
  if (memory->reserved_bytes() < params.bytesize) return CUDA_ERROR_OUT_OF_MEMORY;
  SIM_TRY(virtual_memory().reserve(memory->reserved_bytes(), simdevice::kPhysicalGranularity, 0,
                                   address));
  memory->address = address;
  const std::lock_guard lock(mutex_);
  all_[address] = memory;
  remember(*memory);
  out = std::move(memory);
  return CUDA_SUCCESS;
}

std::shared_ptr<GraphMemory> GraphMemories::find(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(address);
  return found == all_.end() ? nullptr : found->second.lock();
}

CUresult GraphMemories::back(GraphMemory& memory) {
  if (memory.backed) return CUDA_SUCCESS;
  if (allocation_must_fail()) return CUDA_ERROR_OUT_OF_MEMORY;
  Reply reply = ask(message_for(SimType::kPhysicalCreate, memory));
  if (reply.error == CUDA_ERROR_OUT_OF_MEMORY) {
    trim(memory.device());
    reply = ask(message_for(SimType::kPhysicalCreate, memory));
  }
  SIM_TRY(reply.error);
  memory.server_handle = reply.value;
  SIM_TRY(ask(message_for(SimType::kPhysicalMap, memory)).error);
  SIM_TRY(ask(message_for(SimType::kPhysicalAccess, memory)).error);
  for (const CUmemAccessDesc& wanted : memory.access) {
    PhysicalMsg message = message_for(SimType::kPhysicalAccess, memory);
    message.location = Driver::get().index_of(wanted.location.id);
    message.access = wanted.flags;
    SIM_TRY(ask(message).error);
  }
  SIM_TRY(ask(message_for(SimType::kPhysicalRelease, memory)).error);  // the mapping keeps it
  memory.backed = true;
  add(memory.device(), Kind::kReserved, memory.reserved_bytes());
  return CUDA_SUCCESS;
}

void GraphMemories::unback(GraphMemory& memory) {
  if (!memory.backed) return;
  ask(message_for(SimType::kPhysicalUnmap, memory));
  memory.backed = false;
  at(memory.device(), Kind::kReserved).current -= memory.reserved_bytes();
}

// Nothing refers to it any more, so nobody can have it allocated.
void GraphMemories::forget(GraphMemory& memory) {
  if (memory.counter != nullptr) Driver::get().link().wait_stream(memory.counter->id, memory.seq);
  const std::lock_guard lock(mutex_);
  unback(memory);
  all_.erase(memory.address);
  Driver::get().memory.remove(memory.address);
  virtual_memory().release_address(memory.address, memory.reserved_bytes());
}

CUresult GraphMemories::allocate(const std::shared_ptr<GraphMemory>& memory) {
  const std::lock_guard lock(mutex_);
  if (memory->allocated) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(back(*memory));
  memory->allocated = true;
  allocated_[memory->address] = memory;
  add(memory->device(), Kind::kUsed, memory->bytes);
  return CUDA_SUCCESS;
}

bool GraphMemories::free(GraphMemory& memory) {
  std::shared_ptr<GraphMemory> last;  // let go of after the lock
  const std::lock_guard lock(mutex_);
  if (!memory.allocated) return false;
  memory.allocated = false;
  at(memory.device(), Kind::kUsed).current -= memory.bytes;
  const auto found = allocated_.find(memory.address);
  last = std::move(found->second);
  allocated_.erase(found);
  return true;
}

void GraphMemories::used_by(GraphMemory& memory, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  memory.counter = stream.counter;
  memory.seq = stream.last_seq();
}

void GraphMemories::trim(CUdevice device) {
  std::vector<std::shared_ptr<GraphMemory>> kept;  // let go of after the lock
  const std::lock_guard lock(mutex_);
  for (const auto& [address, weak] : all_) {
    auto memory = weak.lock();
    if (memory == nullptr) continue;
    if (memory->device() == device && !memory->allocated && idle(*memory)) unback(*memory);
    kept.push_back(std::move(memory));
  }
}

GraphMemories::Figure& GraphMemories::at(CUdevice device, Kind kind) {
  return figures_[static_cast<size_t>(device)][static_cast<size_t>(kind)];
}

void GraphMemories::add(CUdevice device, Kind kind, uint64_t bytes) {
  Figure& figure = at(device, kind);
  figure.current += bytes;
  figure.highest = std::max(figure.highest, figure.current);
}

GraphMemories::Figure GraphMemories::figure(CUdevice device, Kind kind) const {
  const std::lock_guard lock(mutex_);
  return figures_[static_cast<size_t>(device)][static_cast<size_t>(kind)];
}

void GraphMemories::reset_highest(CUdevice device, Kind kind) {
  const std::lock_guard lock(mutex_);
  at(device, kind).highest = at(device, kind).current;
}

bool has_memory_nodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    return std::holds_alternative<MemAllocWork>(node->work) ||
           std::holds_alternative<MemFreeWork>(node->work);
  });
}

CUresult make_free_work(const Graph& graph, uint64_t address, Work& out) {
  const auto memory = graph_memories().find(address);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(graph_lock());
  // Once in all, if the owner does it; once in each graph, if others do.
  const bool own = memory->owner == &graph;
  const bool twice = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
    const auto* free = std::get_if<MemFreeWork>(&node->work);
    return free != nullptr && free->memory == memory;
  });
  if (twice || memory->freed_by_owner || (own && memory->freed_by_other))
    return CUDA_ERROR_INVALID_VALUE;
  out = MemFreeWork{memory};
  return CUDA_SUCCESS;
}

void note_free_node(const Graph& graph, uint64_t address) {
  const auto memory = graph_memories().find(address);
  if (memory == nullptr) return;
  const std::lock_guard lock(graph_lock());
  (memory->owner == &graph ? memory->freed_by_owner : memory->freed_by_other) = true;
}

CUresult free_graph_memory(uint64_t address, const Stream& stream) {
  const auto memory = graph_memories().find(address);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  {
    const std::lock_guard lock(graph_lock());
    if (memory->freed_by_owner) return CUDA_ERROR_INVALID_VALUE;
  }
  if (!graph_memories().free(*memory)) return CUDA_ERROR_INVALID_VALUE;
  graph_memories().used_by(*memory, stream);
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
