// SPDX-License-Identifier: Apache-2.0
// The memory behind malloc and free in device code: first fit over one range of addresses that only
// kernels can use (the CUDA guide forbids it to host calls). Lives as long as its context.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace gacer::simdevice {

inline constexpr uint64_t kHeapWindow = 0x0000'0010'0000'0000ULL;
inline constexpr uint64_t kDefaultHeapBytes = 8u << 20;  // CU_LIMIT_MALLOC_HEAP_SIZE

class DeviceHeap {
 public:
  explicit DeviceHeap(uint64_t bytes = kDefaultHeapBytes);
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // Address, 16-byte aligned; 0: no room.
  uint64_t allocate(uint64_t bytes);
  // False: not an address that allocate() gave, or freed already. 0 is allowed.
  bool free(uint64_t address);
  // Host memory behind [address, address + bytes); nullptr: not all of it is allocated, in one
  // piece.
  uint8_t* find(uint64_t address, uint64_t bytes);
  // Only while nothing is allocated; false: something is.
  bool resize(uint64_t bytes);
  uint64_t bytes() const { return bytes_; }

 private:
  void map(uint64_t bytes);
  void unmap();

  std::mutex mutex_;  // guards all below
  uint8_t* host_ = nullptr;
  uint64_t bytes_ = 0;
  std::map<uint64_t, uint64_t> used_;  // offset -> bytes
};

}  // namespace gacer::simdevice
