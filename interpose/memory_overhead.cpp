// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_overhead.h"

#include <algorithm>

#include "interpose/driver.h"

namespace gacer::interpose {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kDriversOwnBytes = 128 * kMiB;
constexpr uint64_t kHeapBytes = 8 * kMiB;
constexpr uint64_t kPrintfBytes = 1 * kMiB;
constexpr uint64_t kStackBytes = 1024;
constexpr uint64_t kMaxModuleBytes = 64 * kMiB;
// CU_DEVICE_ATTRIBUTE_MPS_ENABLED; not in the headers of all supported toolkits.
constexpr auto kMpsEnabled = static_cast<CUdevice_attribute>(133);

uint64_t attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  const CUresult result = driver().cuDeviceGetAttribute(&value, which, device);
  return result == CUDA_SUCCESS && value > 0 ? static_cast<uint64_t>(value) : 0;
}

uint64_t context_bytes(CUdevice device) {
  if (attribute(device, kMpsEnabled) != 0) return 0;
  const uint64_t threads = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
                           attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  return kDriversOwnBytes + kHeapBytes + kPrintfBytes + threads * kStackBytes;
}

uint64_t key_of(CUcontext context) {
  return reinterpret_cast<uint64_t>(context);
}

}  // namespace

void MemoryOverhead::context_created(CUcontext context, CUdevice device) {
  const uint32_t index = ledger_.devices().index_of(device);
  if (context == nullptr || index == kNoDevice) return;
  const uint64_t bytes = context_bytes(device);
  const SleepGuard guard(lock_);
  if (contexts_.find(key_of(context)) != nullptr) return;
  if (contexts_.put({key_of(context), bytes, context, index, 0}))
    ledger_.add_overhead(index, bytes);
}

void MemoryOverhead::primary_retained(CUcontext context, CUdevice device) {
  if (device < 0 || device >= static_cast<CUdevice>(kMaxDevices)) return;
  {
    const SleepGuard guard(lock_);
    if (primaries_[device] == context) return;
    primaries_[device] = context;
  }
  context_created(context, device);
}

CUcontext MemoryOverhead::take_primary(CUdevice device) {
  if (device < 0 || device >= static_cast<CUdevice>(kMaxDevices)) return nullptr;
  const SleepGuard guard(lock_);
  const CUcontext context = primaries_[device];
  primaries_[device] = nullptr;
  return context;
}

void MemoryOverhead::context_gone(CUcontext context) {
  if (context == nullptr) return;
  const SleepGuard guard(lock_);
  const auto of_context = [&](const MemoryRecord& record) { return record.context == context; };
  const auto end = [&](const MemoryRecord& record) {
    ledger_.remove_overhead(record.device, record.bytes);
  };
  modules_.take_if(of_context, end);
  contexts_.take_if(of_context, end);
}

void MemoryOverhead::module_loaded(uint64_t handle, uint64_t image_bytes) {
  const uint32_t device = ledger_.devices().current();
  if (handle == 0 || image_bytes == 0 || device == kNoDevice) return;
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  const uint64_t bytes = std::min(image_bytes, kMaxModuleBytes);
  const SleepGuard guard(lock_);
  if (modules_.find(handle) != nullptr) return;
  if (modules_.put({handle, bytes, context, device, 0})) ledger_.add_overhead(device, bytes);
}

void MemoryOverhead::module_unloaded(uint64_t handle) {
  const SleepGuard guard(lock_);
  MemoryRecord record;
  if (modules_.take(handle, record)) ledger_.remove_overhead(record.device, record.bytes);
}

void MemoryOverhead::reset() {
  lock_.force_open();
  contexts_.clear();
  modules_.clear();
  for (CUcontext& context : primaries_) context = nullptr;
}

}  // namespace gacer::interpose
