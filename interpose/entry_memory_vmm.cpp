// SPDX-License-Identifier: Apache-2.0
// Entry points: the virtual memory API.
#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

// By the properties alone: the thread need not have a context.
uint32_t device_of(const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return kNoDevice;
  return shim().memory.devices().index_of(properties->location.id);
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                const CUmemAllocationProp* properties, unsigned long long flags) {
  const HookScope scope;
  const auto call = [&] { return driver().cuMemCreate(handle, bytes, properties, flags); };
  const uint32_t device =
      scope.outermost() && handle != nullptr ? device_of(properties) : kNoDevice;
  if (device == kNoDevice) return call();
  if (!reserve_or_make_room(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  if (result == CUDA_SUCCESS)
    shim().vmm.created(*handle, device, bytes);
  else
    shim().memory.cancel(device, bytes);
  return result;
}

CUresult gacer_hook_cuMemRelease(CUmemGenericAllocationHandle handle) {
  const HookScope scope;
  if (!scope.outermost()) return driver().cuMemRelease(handle);
  return shim().vmm.release(handle, [&] { return driver().cuMemRelease(handle); });
}

CUresult gacer_hook_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                                void* address) {
  const HookScope scope;
  const CUresult result = driver().cuMemRetainAllocationHandle(handle, address);
  if (scope.outermost() && result == CUDA_SUCCESS && handle != nullptr)
    shim().vmm.retained(*handle, reinterpret_cast<CUdeviceptr>(address));
  return result;
}

CUresult gacer_hook_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const HookScope scope;
  const CUresult result = driver().cuMemMap(address, bytes, offset, handle, flags);
  if (scope.outermost() && result == CUDA_SUCCESS) shim().vmm.mapped(address, bytes, handle);
  return result;
}

CUresult gacer_hook_cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const HookScope scope;
  if (!scope.outermost()) return driver().cuMemUnmap(address, bytes);
  return shim().vmm.unmap(address, bytes, [&] { return driver().cuMemUnmap(address, bytes); });
}

CUresult gacer_hook_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                   void* shared, CUmemAllocationHandleType type) {
  const HookScope scope;
  const CUresult result = driver().cuMemImportFromShareableHandle(handle, shared, type);
  if (scope.outermost() && result == CUDA_SUCCESS)
    count_unregulated(gacer::abi::CoveredFunction::k_cuMemImportFromShareableHandle,
                      gacer::abi::CoverageStream::kNoStream);
  return result;
}

}  // extern "C"
