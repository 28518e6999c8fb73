// SPDX-License-Identifier: Apache-2.0
// Virtual memory management of this process: address reservations, handles of physical memory, and
// what is mapped where. Says of the server's state only what the server has been told; the map of
// allocations (memory.h) knows the mappings too.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/driver/cuda_api.h"

namespace gacer::simdriver {

// Free and reserved ranges between two addresses. Not thread-safe.
class AddressRanges {
 public:
  AddressRanges(uint64_t begin, uint64_t end) : begin_(begin), end_(end) {}

  // At `hint` when it is aligned, inside and free, else at the first place that is. nullopt: full.
  std::optional<uint64_t> reserve(uint64_t bytes, uint64_t alignment, uint64_t hint);
  // False unless exactly this was reserved.
  bool release(uint64_t address, uint64_t bytes);
  bool holds(uint64_t address, uint64_t bytes) const;
  struct Range {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  // The reserved range that holds `address`.
  std::optional<Range> find(uint64_t address) const;

 private:
  bool is_free(uint64_t address, uint64_t bytes) const;

  uint64_t begin_;
  uint64_t end_;
  std::map<uint64_t, uint64_t> reserved_;  // address -> bytes
};

struct PhysicalMemory {
  uint64_t server_handle = 0;
  uint64_t bytes = 0;
  CUmemAllocationProp properties{};
  UniqueFd fd;  // of host memory
  unsigned references = 1;
  unsigned mappings = 0;

  bool on_host() const { return properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE; }
};

struct VirtualMapping {
  uint64_t bytes = 0;
  std::shared_ptr<PhysicalMemory> memory;
  CUmemGenericAllocationHandle handle = 0;
  std::map<CUdevice, CUmemAccess_flags> access;
  CUmemAccess_flags host_access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
};

// Thread-safe.
class VirtualMemory {
 public:
  VirtualMemory();

  CUresult reserve(uint64_t bytes, uint64_t alignment, uint64_t hint, uint64_t& address);
  CUresult release_address(uint64_t address, uint64_t bytes);
  std::optional<AddressRanges::Range> reservation(uint64_t address) const;

  CUresult create(uint64_t bytes, const CUmemAllocationProp& properties,
                  CUmemGenericAllocationHandle& handle);
  CUresult release(CUmemGenericAllocationHandle handle);
  CUresult retain(uint64_t address, CUmemGenericAllocationHandle& handle);
  CUresult properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp& out) const;
  CUresult export_fd(CUmemGenericAllocationHandle handle, int& fd) const;
  CUresult import_fd(int fd, CUmemGenericAllocationHandle& handle);

  CUresult map(uint64_t address, uint64_t bytes, CUmemGenericAllocationHandle handle);
  CUresult unmap(uint64_t address, uint64_t bytes);
  CUresult set_access(uint64_t address, uint64_t bytes, const CUmemAccessDesc& wanted);
  CUresult get_access(uint64_t address, const CUmemLocation& location,
                      CUmemAccess_flags& flags) const;

 private:
  using Mappings = std::map<uint64_t, VirtualMapping>;
  std::shared_ptr<PhysicalMemory> find(CUmemGenericAllocationHandle handle) const;
  CUmemGenericAllocationHandle add(std::shared_ptr<PhysicalMemory> memory);
  void forget_if_unused(CUmemGenericAllocationHandle handle);
  Mappings::const_iterator mapping_at(uint64_t address) const;
  // The mappings that make up exactly [address, address + bytes); empty when they do not.
  std::vector<Mappings::iterator> exact(uint64_t address, uint64_t bytes);
  static CUresult set_host_access(uint64_t address, VirtualMapping& mapping,
                                  CUmemAccess_flags flags);
  static CUresult set_device_access(uint64_t address, VirtualMapping& mapping, CUdevice device,
                                    CUmemAccess_flags flags);

  mutable std::mutex mutex_;
  AddressRanges ranges_;
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<PhysicalMemory>> handles_;
  Mappings mappings_;
  CUmemGenericAllocationHandle next_handle_ = 0x1000;
};

VirtualMemory& virtual_memory();

}  // namespace gacer::simdriver
