// SPDX-License-Identifier: Apache-2.0
// The state of the driver in this process: connection, device, handle tables. Made by cuInit, never
// destroyed (threads of the host program may still call in while it exits). A fork child gets
// CUDA_ERROR_NOT_INITIALIZED.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

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
  const DeviceSpec& spec() const { return spec_; }
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
  void reserve_device_range();
  static void after_fork();

  enum class State { kNew, kReady, kFailed, kForked };
  std::atomic<State> state_{State::kNew};
  std::mutex init_mutex_;
  CUresult init_error_ = CUDA_ERROR_NOT_INITIALIZED;
  ServerLink link_;
  DeviceSpec spec_;
  bool mps_ = false;
  std::atomic<uint64_t> unique_ids_{1};
  std::atomic<uint32_t> context_ids_{1};
};

}  // namespace gacer::simdriver
