// SPDX-License-Identifier: Apache-2.0
// The device's memory: one sparse mapping as large as the device, and its allocator (first fit,
// free ranges joined). Pages go back to the host when freed and read as zero when handed out again.
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>

#include "runtime/base/result.h"

namespace gacer::simdevice {

inline constexpr uint64_t kDeviceAlignment = 512;  // as cuMemAlloc guarantees at least 256

class DeviceMemory {
 public:
  // Of the device with this index: its addresses start at kDeviceBase + index * kDeviceSpan.
  static Result<DeviceMemory> create(uint64_t bytes, uint32_t index = 0);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory();

  // Device address, aligned to kDeviceAlignment; nullopt when no free range is large enough. bytes
  // > 0. `owner`: the process that used_bytes() counts it for, until the free.
  std::optional<uint64_t> allocate(uint64_t bytes, pid_t owner = 0);
  // All exactly as allocated.
  void free(uint64_t address, uint64_t bytes, pid_t owner = 0);

  // Takes bytes off what is free without an address: context overhead, managed memory. False: not
  // enough left.
  bool charge(uint64_t bytes, pid_t owner = 0);
  void refund(uint64_t bytes, pid_t owner = 0);
  // What the process has allocated and is charged for.
  uint64_t used_bytes(pid_t owner) const;

  uint32_t index() const { return index_; }
  uint64_t first_address() const;
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t free_bytes() const;
  // Host address of a device address inside an allocation.
  uint8_t* host(uint64_t address) const;
  static uint64_t rounded(uint64_t bytes);

 private:
  DeviceMemory(uint8_t* base, uint64_t bytes, uint32_t index);
  void give_back_pages(uint64_t offset, uint64_t bytes);
  void count_off(pid_t owner, uint64_t bytes);

  uint8_t* base_ = nullptr;
  uint32_t index_ = 0;
  uint64_t total_bytes_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint64_t charged_bytes_ = 0;
  std::map<uint64_t, uint64_t> free_;  // offset -> bytes
  std::map<pid_t, uint64_t> used_;     // by owner
};

}  // namespace gacer::simdevice
