// SPDX-License-Identifier: Apache-2.0
// Physical memory: a piece of a device's memory, or host memory that a client shares. It lives as
// long as anybody refers to it: allocations, mappings, handles, exported descriptors. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/server/device_memory.h"

namespace gacer::simdevice {

class Backing {
 public:
  // nullptr: the device has no room for it. `device` outlives the backing. `owner`: the process
  // that it counts for.
  static std::shared_ptr<Backing> on_device(DeviceMemory& device, uint64_t bytes, pid_t owner = 0);
  // Maps `bytes` of a memfd. Error::code: CUresult.
  static Result<std::shared_ptr<Backing>> on_host(UniqueFd fd, uint64_t bytes);

  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;
  ~Backing();

  uint8_t* host() const { return host_; }
  uint64_t bytes() const { return bytes_; }
  bool is_on_device() const { return device_ != nullptr; }
  // Of the piece of device memory; 0 for host memory.
  uint64_t device_address() const { return device_address_; }
  uint32_t location() const;
  // The memfd of host memory, else -1.
  int fd() const { return fd_.get(); }

 private:
  Backing() = default;

  DeviceMemory* device_ = nullptr;
  uint64_t device_address_ = 0;
  uint64_t bytes_ = 0;
  pid_t owner_ = 0;
  uint8_t* host_ = nullptr;
  UniqueFd fd_;
};

// `bytes` of a memfd that its owner cannot cut short, mapped shared; nullptr when it is none such.
uint8_t* map_client_memory(int fd, uint64_t bytes);

}  // namespace gacer::simdevice
