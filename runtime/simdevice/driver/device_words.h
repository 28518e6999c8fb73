// SPDX-License-Identifier: Apache-2.0
// Small pieces of pinned memory that host and device both read and write, for the driver's own use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/simdevice/driver/context.h"

namespace gacer::simdriver {

// One piece of kWordBytes, zero at first; given back at its end. Dead once its context is closed.
class DeviceWord {
 public:
  static constexpr uint64_t kWordBytes = 64;
  DeviceWord(uint64_t owner, uint64_t address) : owner_(owner), address_(address) {}
  DeviceWord(const DeviceWord&) = delete;
  DeviceWord& operator=(const DeviceWord&) = delete;
  ~DeviceWord();

  uint64_t address() const { return address_; }
  // Precondition of both: the context lives. The server's side is plain memory access.
  uint32_t load() const {
    return std::atomic_ref(*reinterpret_cast<uint32_t*>(address_)).load(std::memory_order_acquire);
  }
  void store(uint64_t value) const {
    std::atomic_ref(*reinterpret_cast<uint64_t*>(address_)).store(value, std::memory_order_release);
  }

 private:
  const uint64_t owner_;  // unique id of the context
  const uint64_t address_;
};

CUresult take_device_word(Context& context, std::shared_ptr<DeviceWord>& out);
// The context closes: its memory goes.
void forget_device_words(uint64_t context_unique_id);

}  // namespace gacer::simdriver
