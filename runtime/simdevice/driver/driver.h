// SPDX-License-Identifier: Apache-2.0
// The state of the driver in this process: connection, device, handle tables. Made by cuInit, never
// destroyed (threads of the host program may still call in while it exits). A fork child gets
// CUDA_ERROR_NOT_INITIALIZED.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/device_spec.h"
#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/event.h"
#include "runtime/simdevice/driver/handles.h"
#include "runtime/simdevice/driver/memory.h"
#include "runtime/simdevice/driver/server_link.h"

namespace gacer::simdriver {

class Driver {
 public:
  static Driver& get();

  CUresult init();
  // CUDA_SUCCESS after cuInit in this very process.
  CUresult initialized() const;
  // initialized(), the server alive and no sticky error.
  CUresult ready() const;
  bool mps() const { return mps_; }

  // Precondition of all below: initialized() succeeded.
  ServerLink& link() { return link_; }
  // Of every device: they are all alike.
  const DeviceSpec& spec() const { return spec_; }
  // Indices, among the server's devices, of those that this process sees; position: CUdevice.
  const std::vector<uint32_t>& devices() const { return devices_; }
  // Precondition: check_device(device) succeeded.
  uint32_t index_of(CUdevice device) const { return devices_[static_cast<size_t>(device)]; }
  // nullopt: this process does not see it.
  std::optional<CUdevice> ordinal_of(uint32_t index) const;
  uint64_t next_unique_id() { return unique_ids_.fetch_add(1, std::memory_order_relaxed); }
  uint32_t next_context_id() { return context_ids_.fetch_add(1, std::memory_order_relaxed); }

  HandleTable<CUcontext, Context> contexts;
  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, Event> events;
  StreamIds stream_ids;
  EventIds event_ids;
  MemoryMap memory;

 private:
  Driver() = default;
  CUresult connect();
  Status open_device();
  void reserve_device_ranges(uint32_t count);
  static void after_fork();

  enum class State { kNew, kReady, kFailed, kForked };
  std::atomic<State> state_{State::kNew};
  std::mutex init_mutex_;
  CUresult init_error_ = CUDA_ERROR_NOT_INITIALIZED;
  ServerLink link_;
  DeviceSpec spec_;
  std::vector<uint32_t> devices_;
  bool mps_ = false;
  std::atomic<uint64_t> unique_ids_{1};
  std::atomic<uint32_t> context_ids_{1};
};

}  // namespace gacer::simdriver
