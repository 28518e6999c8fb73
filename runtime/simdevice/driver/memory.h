// SPDX-License-Identifier: Apache-2.0
// What this process has allocated: device memory, pinned, registered and managed host memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"

namespace gacer::simdriver {

class Context;
struct Stream;

enum class MemoryKind {
  kDevice,
  kModuleGlobal,
  kManaged,
  kPinned,
  kRegistered,
  kGraph,       // of a graph's allocation node
  kImported,    // of another process (cuIpcOpenMemHandle)
  kMapped,      // physical memory of a device, mapped by cuMemMap
  kMappedHost,  // the same of host memory
};

// Of memory that belongs to no context.
inline constexpr uint32_t kNoContext = UINT32_MAX;

struct Allocation {
  uint64_t base = 0;
  uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  uint32_t context_id = 0;
  CUdevice device = 0;
  unsigned flags = 0;  // of the call that made it
  uint64_t buffer_id = 0;
  uint64_t pool = 0;          // of the server; 0: of none
  uint64_t mapped_bytes = 0;  // host memory made by the driver: size of its mapping

  bool sync_memops = false;
  unsigned long long handle_types = 0;  // that the memory can be exported as
  bool accessible = true;               // mapped memory: some device may touch it

  bool on_device() const {
    return kind == MemoryKind::kDevice || kind == MemoryKind::kModuleGlobal ||
           kind == MemoryKind::kMapped || kind == MemoryKind::kImported ||
           kind == MemoryKind::kGraph;
  }
  bool mapped() const { return kind == MemoryKind::kMapped || kind == MemoryKind::kMappedHost; }
};

// Thread-safe.
class MemoryMap {
 public:
  void set_device_range(uint64_t base, uint64_t bytes);
  bool in_device_range(uint64_t address) const { return address - device_base_ < device_bytes_; }

  void add(const Allocation& allocation);
  std::optional<Allocation> remove(uint64_t base);
  // The allocation that holds all of [address, address + bytes), or the first of several adjoining
  // mappings that do.
  std::optional<Allocation> find(uint64_t address, uint64_t bytes = 1) const;
  bool overlaps(uint64_t address, uint64_t bytes) const;
  // Takes out everything of a context.
  std::vector<Allocation> remove_context(uint32_t context_id);

 private:
  uint64_t device_base_ = 0;
  uint64_t device_bytes_ = 0;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> allocations_;
};

// Frees what was given to cuMemFreeAsync and whose stream has got there; `wait`: waits for all of
// it.
CUresult collect_async_frees(bool wait);
// Takes back a free that is ordered into this very stream, when the pool and the size are right:
// the stream's order makes it safe to use the memory at once.
bool reuse_freed_in(const Stream& stream, uint64_t pool, uint64_t bytes, uint64_t& address);
// Whether a free has gone back to a pool since the last call.
bool take_pool_frees_seen();

}  // namespace gacer::simdriver
