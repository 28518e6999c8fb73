// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/simdevice/cudart/thread_state.h"

namespace gacer::cudart {
namespace {

constexpr int kMaxDevices = 64;

struct Primaries {
  std::mutex mutex;
  std::array<CUcontext, kMaxDevices> contexts{};
  std::vector<CUcontext> reset;  // still current in some threads
  // Whether anything was ever put into `reset`: nearly all programs never lock.
  std::atomic<bool> any_reset{false};
};

Primaries& primaries() {
  static Primaries& state = *new Primaries;
  return state;
}

bool was_reset(CUcontext context) {
  Primaries& state = primaries();
  // Acquire: pairs with the release of reset_device.
  if (!state.any_reset.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(state.mutex);
  return std::ranges::find(state.reset, context) != state.reset.end();
}

int default_device() {
  const ThreadState& thread = thread_state();
  if (thread.device >= 0) return thread.device;
  return thread.valid_devices.empty() ? 0 : thread.valid_devices.front();
}

bool usable(CUcontext context) {
  return context != nullptr && !was_reset(context);
}

}  // namespace

Outcome ensure_driver() {
  if (!driver_found()) return cudaErrorInsufficientDriver;
  return driver_ready();
}

Outcome check_device(int device) {
  int count = 0;
  RT_TRY(legacy_driver().cuDeviceGetCount(&count));
  if (count == 0) return cudaErrorNoDevice;
  return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

Outcome primary_context(int device, CUcontext& out) {
  RT_TRY(check_device(device));
  if (device >= kMaxDevices) return cudaErrorInvalidDevice;
  Primaries& state = primaries();
  const std::lock_guard lock(state.mutex);
  CUcontext& kept = state.contexts[static_cast<size_t>(device)];
  if (kept == nullptr) {
    RT_TRY(legacy_driver().cuDevicePrimaryCtxRetain(&kept, device));
    std::erase(state.reset, kept);  // the address may be used again
  }
  out = kept;
  return cudaSuccess;
}

Outcome use_device(int device) {
  CUcontext context = nullptr;
  RT_TRY(primary_context(device, context));
  RT_TRY(legacy_driver().cuCtxSetCurrent(context));
  thread_state().device = device;
  thread_state().context = context;
  return cudaSuccess;
}

Outcome ensure_context() {
  RT_TRY(ensure_driver());
  CUcontext current = nullptr;
  if (legacy_driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS && usable(current)) {
    thread_state().context = current;
    return cudaSuccess;
  }
  return use_device(default_device());
}

int current_device() {
  CUcontext current = nullptr;
  CUdevice device = 0;
  const Driver& driver = legacy_driver();
  if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && usable(current) &&
      driver.cuCtxGetDevice(&device) == CUDA_SUCCESS)
    return device;
  return default_device();
}

Outcome reset_device() {
  const int device = current_device();
  RT_TRY(check_device(device));
  {
    Primaries& state = primaries();
    const std::lock_guard lock(state.mutex);
    CUcontext& kept = state.contexts[static_cast<size_t>(device)];
    if (kept != nullptr) state.reset.push_back(kept);
    kept = nullptr;
    // Release: pairs with the acquire of was_reset.
    state.any_reset.store(true, std::memory_order_release);
  }
  const CUresult result = legacy_driver().cuDevicePrimaryCtxReset(device);
  thread_state().last_error = cudaSuccess;
  return result;
}

DeviceScope::DeviceScope(int device) : status_(cudaSuccess) {
  CUcontext context = nullptr;
  status_ = primary_context(device, context);
  if (!status_.failed()) status_ = legacy_driver().cuCtxPushCurrent(context);
}

DeviceScope::~DeviceScope() {
  CUcontext popped = nullptr;
  if (!status_.failed()) (void)legacy_driver().cuCtxPopCurrent(&popped);
}

}  // namespace gacer::cudart
