// SPDX-License-Identifier: Apache-2.0
// What one client may touch: its device allocations by context, its mappings of physical memory,
// its shared host mappings, and its foreign host memory through process_vm_readv/writev. Gives
// everything back when destroyed. Not thread-safe.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/exec/program.h"
#include "runtime/simdevice/server/device_memory.h"
#include "runtime/simdevice/server/memory_pool.h"

namespace gacer::simdevice {

// Memory of the client's own.
struct HostRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

class ClientMemory {
 public:
  // `devices` outlive this.
  ClientMemory(std::span<DeviceMemory> devices, pid_t pid) : devices_(devices), pid_(pid) {}
  ClientMemory(const ClientMemory&) = delete;
  ClientMemory& operator=(const ClientMemory&) = delete;
  ~ClientMemory();

  // A context on a device, charged with `bytes`. Error::code: CUresult.
  Status add_context(uint32_t context, uint32_t device, uint64_t bytes);
  // With its allocations; false when there is none such.
  bool remove_context(uint32_t context);
  bool has_context(uint32_t context) const { return contexts_.contains(context); }
  bool has_context_on(uint32_t device) const;
  // nullptr when there is no such context.
  DeviceMemory* device_of(uint32_t context) const;
  // Kernels of `context` may touch allocations of `peer`, or no longer.
  Status set_peer(uint32_t context, uint32_t peer, bool enable);

  std::optional<uint64_t> allocate(uint32_t context, uint64_t bytes);
  // A piece of a pool; goes with the context. False: something is there already.
  bool add_piece(uint32_t context, std::shared_ptr<PoolPiece> piece);
  // Another process's allocation, at its own address. False as above.
  bool add_import(uint32_t context, std::shared_ptr<Backing> backing);
  // False when no allocation of the client starts at `address`.
  bool free(uint64_t address);
  // What makes up the allocation at `address`; monostate: none, or nothing that can be shared.
  std::variant<std::monostate, std::shared_ptr<Backing>, std::shared_ptr<PoolPiece>> shareable(
      uint64_t address) const;
  // Something outside has changed who may touch what.
  void access_changed() { spaces_.clear(); }

  // Maps physical memory; nobody may touch it yet. Error::code: CUresult.
  Status map(uint64_t address, uint64_t bytes, std::shared_ptr<Backing> backing, uint64_t offset);
  // Exactly one or several whole mappings.
  Status unmap(uint64_t address, uint64_t bytes);
  Status set_access(uint64_t address, uint64_t bytes, uint32_t device, bool allow);

  // Maps memory that the client shares by `fd`; without fd only notes it. `context`: whose device
  // is charged. Error::code: CUresult.
  Status map_host(uint64_t address, uint64_t bytes, bool charge, UniqueFd fd, uint32_t context = 0);
  bool unmap_host(uint64_t address);
  // The noted memory without fd that holds `address`.
  std::optional<HostRange> foreign_at(uint64_t address) const;

  // What kernels of the context may touch; valid until the next change.
  const AddressSpace& space(uint32_t context);
  // Bytes from `address` to the end of the allocation or of adjoining mappings; 0 when it is none
  // of the client's.
  uint64_t bytes_from(uint64_t address) const;
  // Index of the device that holds the memory at `address`; nullopt: host memory, or none.
  std::optional<uint32_t> location(uint64_t address) const;

  // Reserved for devices and mappings: never host memory.
  static bool is_device_address(uint64_t address);

  // Host pointer to [address, address + bytes) when it lies in one allocation or mapping.
  uint8_t* resolve(uint64_t address, uint64_t bytes) const;
  // Reads or writes client memory of any kind; false: not accessible.
  bool read(uint64_t address, void* to, uint64_t bytes) const;
  bool write(uint64_t address, const void* from, uint64_t bytes) const;
  // True from when the process was found to have ended, which may be long before its socket hangs
  // up. Access to memory of its own fails then, through no fault of what it asked for.
  bool owner_is_gone() const { return owner_is_gone_; }
  void note_owner_is_gone() const { owner_is_gone_ = true; }

 private:
  // An allocation of a context, or a mapping of physical memory.
  struct Region {
    uint64_t bytes = 0;
    std::shared_ptr<Backing> backing;
    uint64_t offset = 0;
    uint32_t context = 0;  // of an allocation
    bool mapping = false;
    uint32_t access = 0;               // mapping: a bit for each device that may touch it
    std::shared_ptr<PoolPiece> piece;  // of a pool, which says who may touch it

    uint8_t* host() const { return backing->host() + offset; }
    bool closed() const { return mapping && access == 0; }
  };
  struct HostMapping {
    uint64_t bytes = 0;
    uint8_t* host = nullptr;  // nullptr: foreign
    DeviceMemory* device = nullptr;
    uint64_t charged = 0;
  };
  struct Context {
    DeviceMemory* device = nullptr;
    uint64_t charged = 0;
    std::set<uint32_t> peers;
  };
  using Regions = std::map<uint64_t, Region>;
  using ForeignCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                  unsigned long);

  bool overlaps_host(uint64_t address, uint64_t bytes) const;
  // The mappings that make up exactly [address, address + bytes); empty when they do not.
  std::vector<Regions::iterator> exact_mappings(uint64_t address, uint64_t bytes);
  void release(HostMapping& mapping) const;
  bool visible_to(const Region& region, uint32_t context, const Context* info) const;
  void rebuild(uint32_t context, AddressSpace& space) const;
  // Between `local` and the client's own memory.
  bool foreign(ForeignCall call, uint8_t* local, uint64_t address, uint64_t bytes) const;
  // The part of [address, address + bytes) that lies in one piece; shortens `bytes` to it.
  uint8_t* resolve_part(uint64_t address, uint64_t& bytes) const;

  std::span<DeviceMemory> devices_;
  pid_t pid_;
  mutable bool owner_is_gone_ = false;
  std::map<uint32_t, Context> contexts_;
  Regions regions_;
  std::map<uint64_t, HostMapping> host_;
  std::map<uint32_t, AddressSpace> spaces_;  // by context; emptied by every change
};

}  // namespace gacer::simdevice
