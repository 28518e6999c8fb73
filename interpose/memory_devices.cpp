// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_devices.h"

#include <algorithm>
#include <cstring>

#include "interpose/driver.h"

namespace gacer::interpose {
namespace {

bool device_of_context(CUcontext context, CUdevice& device) {
  const DriverTable& real = driver();
  if (real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return false;
  const bool known = real.cuCtxGetDevice(&device) == CUDA_SUCCESS;
  CUcontext popped = nullptr;
  real.cuCtxPopCurrent_v2(&popped);
  return known;
}

bool is_default(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

}  // namespace

bool MemoryDevices::learn(uint32_t index, CUdevice device) {
  MemoryDevice facts;
  size_t bytes = 0;
  if (driver().cuDeviceTotalMem_v2(&bytes, device) != CUDA_SUCCESS) return false;
  facts.total_bytes = bytes;
  CUuuid uuid{};
  if (driver().cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS)
    memcpy(facts.uuid.data(), uuid.bytes, facts.uuid.size());
  if (facts.uuid == abi::DeviceUuid{}) facts.uuid.back() = static_cast<uint8_t>(index);
  const SpinGuard guard(lock_);
  const uint64_t bit = uint64_t{1} << index;
  if ((known_.load(std::memory_order_relaxed) & bit) != 0) return true;
  devices_[index] = facts;
  known_.fetch_or(bit, std::memory_order_release);  // pairs with index_of()
  const uint32_t count = std::max(count_.load(std::memory_order_relaxed), index + 1);
  count_.store(count, std::memory_order_release);  // pairs with count()
  return true;
}

uint32_t MemoryDevices::index_of(CUdevice device) {
  if (device < 0 || device >= static_cast<CUdevice>(kMaxDevices)) return kNoDevice;
  const auto index = static_cast<uint32_t>(device);
  // Pairs with the release in learn().
  const bool known = (known_.load(std::memory_order_acquire) >> index & 1) != 0;
  return known || learn(index, device) ? index : kNoDevice;
}

uint32_t MemoryDevices::current() {
  CUdevice device = -1;
  return driver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? index_of(device) : kNoDevice;
}

uint32_t MemoryDevices::of_stream(CUstream stream) {
  if (is_default(stream)) return current();
  CUcontext context = nullptr;
  CUcontext here = nullptr;
  if (driver().cuStreamGetCtx(stream, &context) != CUDA_SUCCESS || context == nullptr)
    return current();
  driver().cuCtxGetCurrent(&here);
  if (context == here) return current();
  CUdevice device = -1;
  return device_of_context(context, device) ? index_of(device) : current();
}

uint32_t MemoryDevices::find(const abi::DeviceUuid& uuid) {
  int count = 0;
  if (driver().cuDeviceGetCount(&count) != CUDA_SUCCESS) return kNoDevice;
  for (int ordinal = 0; ordinal < std::min<int>(count, kMaxDevices); ++ordinal) {
    CUdevice device = -1;
    if (driver().cuDeviceGet(&device, ordinal) != CUDA_SUCCESS) continue;
    const uint32_t index = index_of(device);
    if (index != kNoDevice && at(index).uuid == uuid) return index;
  }
  return kNoDevice;
}

void MemoryDevices::forget() {
  known_.store(0, std::memory_order_relaxed);
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace gacer::interpose
