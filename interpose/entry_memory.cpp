// SPDX-License-Identifier: Apache-2.0
// Entry points: device memory under the tenant's limit.
#include <algorithm>

#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

CUcontext current_context() {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return context;
}

// Charges `bytes` to the current device around an allocation that puts its address into *pointer.
template <typename Call>
CUresult allocate(const CUdeviceptr* pointer, uint64_t bytes, const Call& call) {
  const HookScope scope;
  if (!scope.outermost() || pointer == nullptr) return call();
  MemoryLedger& memory = shim().memory;
  const uint32_t device = memory.devices().current();
  if (!memory.reserve(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  if (result == CUDA_SUCCESS)
    memory.keep({*pointer, bytes, current_context(), device, 0});
  else
    memory.cancel(device, bytes);
  return result;
}

template <typename Call>
CUresult deallocate(CUdeviceptr pointer, const Call& call) {
  const HookScope scope;
  if (!scope.outermost()) return call();
  // Taken before the call: afterwards another thread may have been given the same address.
  MemoryRecord record;
  MemoryLedger& memory = shim().memory;
  const bool known = memory.take(pointer, record);
  const CUresult result = call();
  if (!known) return result;
  if (result == CUDA_SUCCESS)
    memory.give_back(record);
  else
    memory.put_back(record);
  return result;
}

// The driver chooses the pitch, so the true size is known only after the call.
CUresult allocate_pitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                        unsigned element) {
  const HookScope scope;
  const DriverTable& real = driver();
  if (!scope.outermost() || pointer == nullptr || pitch == nullptr)
    return real.cuMemAllocPitch_v2(pointer, pitch, width, height, element);
  MemoryLedger& memory = shim().memory;
  const uint32_t device = memory.devices().current();
  const uint64_t least = uint64_t{width} * height;
  if (!memory.reserve(device, least)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = real.cuMemAllocPitch_v2(pointer, pitch, width, height, element);
  const uint64_t bytes = result == CUDA_SUCCESS ? std::max<uint64_t>(*pitch * height, least) : 0;
  if (result == CUDA_SUCCESS && (bytes == least || memory.reserve(device, bytes - least))) {
    memory.keep({*pointer, bytes, current_context(), device, 0});
    return result;
  }
  if (result == CUDA_SUCCESS) {
    real.cuMemFree_v2(*pointer);
    *pointer = 0;
  }
  memory.cancel(device, least);
  return result == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  return allocate(pointer, bytes, [&] { return driver().cuMemAlloc_v2(pointer, bytes); });
}

CUresult gacer_hook_cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width,
                                       size_t height, unsigned element) {
  return allocate_pitch(pointer, pitch, width, height, element);
}

CUresult gacer_hook_cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned flags) {
  return allocate(pointer, bytes,
                  [&] { return driver().cuMemAllocManaged(pointer, bytes, flags); });
}

#define GACER_ALLOC_ASYNC(symbol)                                                             \
  CUresult gacer_hook_##symbol(CUdeviceptr* pointer, size_t bytes, CUstream stream) {         \
    return allocate(pointer, bytes, [&] { return driver().symbol(pointer, bytes, stream); }); \
  }
GACER_ALLOC_ASYNC(cuMemAllocAsync)
GACER_ALLOC_ASYNC(cuMemAllocAsync_ptsz)

#define GACER_ALLOC_FROM_POOL(symbol)                                                 \
  CUresult gacer_hook_##symbol(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, \
                               CUstream stream) {                                     \
    return allocate(pointer, bytes,                                                   \
                    [&] { return driver().symbol(pointer, bytes, pool, stream); });   \
  }
GACER_ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
GACER_ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)

CUresult gacer_hook_cuMemFree_v2(CUdeviceptr pointer) {
  return deallocate(pointer, [&] { return driver().cuMemFree_v2(pointer); });
}

#define GACER_FREE_ASYNC(symbol)                                                  \
  CUresult gacer_hook_##symbol(CUdeviceptr pointer, CUstream stream) {            \
    return deallocate(pointer, [&] { return driver().symbol(pointer, stream); }); \
  }
GACER_FREE_ASYNC(cuMemFreeAsync)
GACER_FREE_ASYNC(cuMemFreeAsync_ptsz)

CUresult gacer_hook_cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  const HookScope scope;
  const CUresult result = driver().cuMemGetInfo_v2(free_bytes, total_bytes);
  MemoryLedger& memory = shim().memory;
  if (!scope.outermost() || result != CUDA_SUCCESS || !memory.limited()) return result;
  const uint32_t device = memory.devices().current();
  if (device == kNoDevice) return result;
  const MemoryView view = memory.view(device);
  if (view.limit_bytes == 0) return result;
  const uint64_t total = std::min(view.limit_bytes, view.total_bytes);
  const uint64_t room = total - std::min(view.used_bytes, total);
  if (free_bytes != nullptr) *free_bytes = std::min<uint64_t>(*free_bytes, room);
  if (total_bytes != nullptr) *total_bytes = std::min<uint64_t>(*total_bytes, total);
  return result;
}

CUresult gacer_hook_cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  const HookScope scope;
  const CUresult result = driver().cuDeviceTotalMem_v2(bytes, device);
  MemoryLedger& memory = shim().memory;
  if (!scope.outermost() || result != CUDA_SUCCESS || bytes == nullptr || !memory.limited())
    return result;
  const uint32_t index = memory.devices().index_of(device);
  if (index == kNoDevice) return result;
  const uint64_t limit = memory.view(index).limit_bytes;
  if (limit != 0) *bytes = std::min<uint64_t>(*bytes, limit);
  return result;
}

}  // extern "C"
