// SPDX-License-Identifier: Apache-2.0
// Physical memory of the virtual memory API (cuMemCreate). It is charged to the device named in the
// properties, whatever context the thread has or lacks; host locations of any kind are not charged.
// The driver keeps it until the last handle is released and the last mapping is gone, in either
// order: so does the charge. cuMemRetainAllocationHandle adds a handle.
//
// Memory imported from another process is its exporter's: charged there, as long as the exporter
// holds it. The driver keeps exported memory alive for its importers after the exporter has let go;
// from then on nobody is charged for it.
//
// Addresses and mappings of memory that we do not know are none of our business. Thread-safe.
#pragma once

#include <cstdint>

#include "interpose/memory_ledger.h"

namespace gacer::interpose {

class MemoryVmm {
 public:
  explicit constexpr MemoryVmm(MemoryLedger& ledger) : ledger_(ledger) {}

  // The reserved bytes belong to this handle now.
  void created(CUmemGenericAllocationHandle handle, uint32_t device, uint64_t bytes);
  void mapped(CUdeviceptr address, uint64_t bytes, CUmemGenericAllocationHandle handle);
  void retained(CUmemGenericAllocationHandle handle, CUdeviceptr address);
  // What is to go is taken out before the driver's call, since afterwards another thread may have
  // been given the same handle or address; it is put back when the driver refuses.
  template <typename Call>
  CUresult release(CUmemGenericAllocationHandle handle, const Call& call) {
    uint64_t block = 0;
    const bool known = take_handle(handle, block);
    const CUresult result = call();
    if (known) released(handle, block, result == CUDA_SUCCESS);
    return result;
  }
  template <typename Call>
  CUresult unmap(CUdeviceptr address, uint64_t bytes, const Call& call) {
    Taken taken = take_mappings(address, bytes);
    const CUresult result = call();
    unmapped(taken, result == CUDA_SUCCESS);
    return result;
  }

  void reset();  // in a fork child, before any other thread exists

 private:
  struct Block {
    uint64_t bytes;
    uint32_t device;
    uint32_t handles;   // references by handle
    uint32_t mappings;  // pieces of address space
    uint32_t in_use;    // 0: free slot
  };
  struct Mapping {
    CUdeviceptr address;
    uint64_t bytes;
    uint64_t block;
  };

  struct Taken {
    Mapping* items;
    uint64_t count;
  };

  bool take_handle(CUmemGenericAllocationHandle handle, uint64_t& block);
  void released(CUmemGenericAllocationHandle handle, uint64_t block, bool done);
  Taken take_mappings(CUdeviceptr address, uint64_t bytes);
  void unmapped(Taken& taken, bool done);
  bool add_block(const Block& block, uint64_t& index);
  uint64_t mapping_at(CUdeviceptr address) const;  // index of the first one at or after it
  bool insert(const Mapping& mapping);
  void end_if_unused(uint64_t index);

  MemoryLedger& ledger_;
  SleepLock lock_;   // before the ledger's
  FlatMap handles_;  // handle -> index of its block
  Block* blocks_ = nullptr;
  uint64_t block_count_ = 0;
  uint64_t block_capacity_ = 0;
  uint64_t free_blocks_ = 0;
  Mapping* mappings_ = nullptr;  // by address
  uint64_t mapping_count_ = 0;
  uint64_t mapping_capacity_ = 0;
};

}  // namespace gacer::interpose
