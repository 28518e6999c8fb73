// SPDX-License-Identifier: Apache-2.0
// The devices of this process and who they are: ordinals differ from process to process
// (CUDA_VISIBLE_DEVICES), so outside of it a device is its UUID. Read from the driver when first
// used, kept for ever. Thread-safe; makes no call that needs a context or is illegal during a
// capture.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/cuda_api.h"
#include "interpose/session.h"
#include "interpose/spin_lock.h"
#include "runtime/abi/control_messages.h"

namespace gacer::interpose {

inline constexpr uint32_t kMaxDevices = kMemoryDevices;
inline constexpr uint32_t kNoDevice = UINT32_MAX;  // memory that no quota is about

struct MemoryDevice {
  abi::DeviceUuid uuid{};  // all zero but for the ordinal where the driver has none
  uint64_t total_bytes = 0;
};

class MemoryDevices {
 public:
  // The index (its ordinal) under which the device's account is kept; kNoDevice: not a device.
  uint32_t index_of(CUdevice device);
  // Of the calling thread's context; kNoDevice: it has none.
  uint32_t current();
  // Of the stream's context, the current one for default streams.
  uint32_t of_stream(CUstream stream);
  // By UUID, among all visible ones. kNoDevice also when the driver is not initialised.
  uint32_t find(const abi::DeviceUuid& uuid);

  // Precondition: `index` came from one of the above.
  const MemoryDevice& at(uint32_t index) const { return devices_[index]; }
  // Highest index ever given out, plus one.
  uint32_t count() const { return count_.load(std::memory_order_acquire); }  // pairs with learn()

  // In a fork child, before any other thread exists: the devices stay the same.
  void reset_lock() { lock_.unlock(); }
  void forget();  // for tests

 private:
  bool learn(uint32_t index, CUdevice device);

  SpinLock lock_;
  std::atomic<uint64_t> known_{0};  // bit per index
  std::atomic<uint32_t> count_{0};
  MemoryDevice devices_[kMaxDevices];
};

}  // namespace gacer::interpose
