// SPDX-License-Identifier: Apache-2.0
// What one client may touch: its device allocations by context, its shared host mappings, and its
// foreign host memory through process_vm_readv/writev. Gives everything back when destroyed. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/exec/program.h"
#include "runtime/simdevice/server/device_memory.h"

namespace gacer::simdevice {

class ClientMemory {
 public:
  ClientMemory(DeviceMemory& device, pid_t pid) : device_(device), pid_(pid) {}
  ClientMemory(const ClientMemory&) = delete;
  ClientMemory& operator=(const ClientMemory&) = delete;
  ~ClientMemory();

  std::optional<uint64_t> allocate(uint32_t context, uint64_t bytes);
  // False when no allocation of the client starts at `address`.
  bool free(uint64_t address);
  void free_context(uint32_t context);
  // Notes what DeviceMemory::charge() took for a context, so that it goes back with the client.
  void add_context_charge(uint64_t bytes) { context_charges_ += bytes; }
  void remove_context_charge(uint64_t bytes);

  // Maps memory that the client shares by `fd`; without fd only notes it. Error::code: CUresult.
  Status map_host(uint64_t address, uint64_t bytes, bool charge, UniqueFd fd);
  bool unmap_host(uint64_t address);

  // What kernels of the context may touch; valid until the next change.
  const AddressSpace& space(uint32_t context);
  // Bytes of the allocation from `address` to its end; 0 when it is none of the client's.
  uint64_t bytes_from(uint64_t address) const;

  static bool is_device_address(uint64_t address, const DeviceMemory& device);

  // Host pointer to [address, address + bytes) when it lies in one device allocation or shared host
  // mapping.
  uint8_t* resolve(uint64_t address, uint64_t bytes) const;
  // Reads or writes client memory of any kind; false: not accessible.
  bool read(uint64_t address, void* to, uint64_t bytes) const;
  bool write(uint64_t address, const void* from, uint64_t bytes) const;

 private:
  struct Allocation {
    uint64_t bytes = 0;
    uint32_t context = 0;
  };
  struct HostMapping {
    uint64_t bytes = 0;
    uint8_t* host = nullptr;  // nullptr: foreign
    uint64_t charged = 0;
  };
  bool overlaps_host(uint64_t address, uint64_t bytes) const;
  void release(HostMapping& mapping);
  void rebuild(uint32_t context, AddressSpace& space) const;

  DeviceMemory& device_;
  pid_t pid_;
  uint64_t context_charges_ = 0;
  std::map<uint64_t, Allocation> allocations_;
  std::map<uint64_t, HostMapping> host_;
  std::map<uint32_t, AddressSpace> spaces_;  // by context; emptied by every change
};

}  // namespace gacer::simdevice
