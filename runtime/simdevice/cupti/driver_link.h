// SPDX-License-Identifier: Apache-2.0
// The simulated driver of this process: its table (tools_hooks.h), and what CUPTI asks it for.
// Calls made through here are not reported.
#pragma once

#include <cstdint>

#include "runtime/simdevice/cupti/cupti_api.h"
#include "runtime/simdevice/tools_hooks.h"

namespace gacer::simcupti {

// Loads libcuda.so.1 where the program has not; nullptr: it is not the simulated one. Thread-safe.
simdevice::ToolsHooks* driver_hooks();

// While one lives, what this thread calls is not reported.
class Unreported {
 public:
  Unreported();
  ~Unreported();
  Unreported(const Unreported&) = delete;
  Unreported& operator=(const Unreported&) = delete;
  static bool active();
};

// A function of the driver; nullptr: there is none of that name.
void* driver_symbol(const char* name);
template <typename Function>
Function* driver_function(const char* name) {
  return reinterpret_cast<Function*>(driver_symbol(name));
}

// 0: not valid.
uint32_t context_id(CUcontext context);
uint32_t stream_id(CUstream stream);
// Of the default stream of `context`.
uint32_t null_stream_id(CUcontext context);
uint32_t device_of(CUcontext context);
CUcontext current_context();
uint64_t host_now_ns();

}  // namespace gacer::simcupti
