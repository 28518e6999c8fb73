// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate and free (cuGraphAddMemAllocNode). Its address is fixed from the node
// on; physical memory comes with the first launch and stays until it is trimmed or the graph is
// gone. Who has it allocated is followed in the order of launches and frees on the host, which is
// the order in which streams get to them when programs keep the documented rules.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/simdevice/driver/graph.h"
#include "runtime/simdevice/driver/stream.h"

namespace gacer::simdriver {

struct GraphMemory {
  GraphMemory() = default;
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();

  uint64_t address = 0;
  uint64_t bytes = 0;
  CUmemPoolProps props{};
  std::vector<CUmemAccessDesc> access;
  const Graph* owner = nullptr;  // only compared

  // Guarded by graph_lock().
  bool freed_by_owner = false;  // a free node exists
  bool freed_by_other = false;

  // Guarded by the lock of GraphMemories.
  bool allocated = false;
  bool backed = false;
  uint64_t server_handle = 0;
  std::shared_ptr<StreamCounter> counter;  // of the newest use
  uint64_t seq = 0;

  CUdevice device() const { return props.location.id; }
  uint64_t reserved_bytes() const;
};

// Thread-safe.
class GraphMemories {
 public:
  struct Figure {
    uint64_t current = 0;
    uint64_t highest = 0;
  };
  enum class Kind { kUsed, kReserved };

  CUresult make(const CUDA_MEM_ALLOC_NODE_PARAMS& params, const Graph& owner,
                std::shared_ptr<GraphMemory>& out);
  // nullptr: no graph's memory starts there.
  std::shared_ptr<GraphMemory> find(uint64_t address) const;

  // Backs it with memory. CUDA_ERROR_INVALID_VALUE: is allocated already.
  CUresult allocate(const std::shared_ptr<GraphMemory>& memory);
  // False when it is not allocated.
  bool free(GraphMemory& memory);
  // What `stream` has now is the newest use.
  void used_by(GraphMemory& memory, const Stream& stream);

  // Takes physical memory from what is not allocated and whose last use is over.
  void trim(CUdevice device);
  Figure figure(CUdevice device, Kind kind) const;
  void reset_highest(CUdevice device, Kind kind);

 private:
  friend struct GraphMemory;
  CUresult back(GraphMemory& memory);
  void unback(GraphMemory& memory);
  void forget(GraphMemory& memory);
  Figure& at(CUdevice device, Kind kind);
  void add(CUdevice device, Kind kind, uint64_t bytes);

  mutable std::recursive_mutex mutex_;  // letting go of the last reference comes back here
  std::map<uint64_t, std::weak_ptr<GraphMemory>> all_;
  std::map<uint64_t, std::shared_ptr<GraphMemory>> allocated_;  // outlive their graphs
  std::array<std::array<Figure, 2>, simdevice::kMaxDevices> figures_{};
};

GraphMemories& graph_memories();

bool has_memory_nodes(const Graph& graph);

// The work of a node of `graph` that frees what a graph has allocated at `address`.
CUresult make_free_work(const Graph& graph, uint64_t address, Work& out);
// Such a node has been added.
void note_free_node(const Graph& graph, uint64_t address);

// cuMemFree and cuMemFreeAsync of such memory.
CUresult free_graph_memory(uint64_t address, const Stream& stream);

}  // namespace gacer::simdriver
