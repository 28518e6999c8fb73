// SPDX-License-Identifier: Apache-2.0
// Device, host and managed memory; what is known of a pointer; memory of other processes.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

constexpr unsigned kPitchElementBytes = 4;

// Nothing asked for: success and a null pointer.
template <typename Allocate>
Outcome allocate_unless_empty(void** out, size_t bytes, const Allocate& allocate) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  return bytes == 0 ? Outcome(cudaSuccess) : Outcome(allocate());
}

cudaMemoryType memory_type(unsigned driver_type, unsigned managed) {
  if (managed != 0) return cudaMemoryTypeManaged;
  if (driver_type == CU_MEMORYTYPE_DEVICE) return cudaMemoryTypeDevice;
  return driver_type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
}

}  // namespace

namespace impl {

Outcome cudaMalloc(const Driver& driver, void** devPtr, size_t size) {
  return allocate_unless_empty(devPtr, size,
                               [&] { return driver.cuMemAlloc(device_address_out(devPtr), size); });
}
Outcome cudaMallocManaged(const Driver& driver, void** devPtr, size_t size, unsigned flags) {
  if (devPtr == nullptr || size == 0) return cudaErrorInvalidValue;
  return driver.cuMemAllocManaged(device_address_out(devPtr), size, flags);
}
Outcome cudaMallocHost(const Driver& driver, void** ptr, size_t size) {
  return allocate_unless_empty(ptr, size, [&] { return driver.cuMemHostAlloc(ptr, size, 0); });
}
Outcome cudaHostAlloc(const Driver& driver, void** pHost, size_t size, unsigned flags) {
  return allocate_unless_empty(pHost, size,
                               [&] { return driver.cuMemHostAlloc(pHost, size, flags); });
}
Outcome cudaMallocPitch(const Driver& driver, void** devPtr, size_t* pitch, size_t width,
                        size_t height) {
  if (pitch == nullptr) return cudaErrorInvalidValue;
  *pitch = 0;
  return allocate_unless_empty(devPtr, width * height, [&] {
    return driver.cuMemAllocPitch(device_address_out(devPtr), pitch, width, height,
                                  kPitchElementBytes);
  });
}
Outcome cudaMalloc3D(const Driver& driver, cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
  if (pitchedDevPtr == nullptr) return cudaErrorInvalidValue;
  pitchedDevPtr->xsize = extent.width;
  pitchedDevPtr->ysize = extent.height;
  return cudaMallocPitch(driver, &pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width,
                         extent.height * extent.depth);
}
Outcome cudaFree(const Driver& driver, void* devPtr) {
  if (devPtr == nullptr) return cudaSuccess;
  return driver.cuMemFree(device_address(devPtr));
}
Outcome cudaFreeHost(const Driver& driver, void* ptr) {
  return ptr == nullptr ? Outcome(cudaSuccess) : Outcome(driver.cuMemFreeHost(ptr));
}

Outcome cudaHostRegister(const Driver& driver, void* ptr, size_t size, unsigned flags) {
  return driver.cuMemHostRegister(ptr, size, flags);
}
Outcome cudaHostUnregister(const Driver& driver, void* ptr) {
  return driver.cuMemHostUnregister(ptr);
}
Outcome cudaHostGetDevicePointer(const Driver& driver, void** pDevice, void* pHost,
                                 unsigned flags) {
  return driver.cuMemHostGetDevicePointer(device_address_out(pDevice), pHost, flags);
}
Outcome cudaHostGetFlags(const Driver& driver, unsigned* pFlags, void* pHost) {
  return driver.cuMemHostGetFlags(pFlags, pHost);
}
Outcome cudaMemGetInfo(const Driver& driver, size_t* free, size_t* total) {
  return driver.cuMemGetInfo(free, total);
}

Outcome cudaPointerGetAttributes(const Driver& driver, cudaPointerAttributes* attributes,
                                 const void* ptr) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  unsigned type = 0, managed = 0;
  int device = cudaInvalidDeviceId;
  CUdeviceptr device_pointer = 0;
  void* host_pointer = nullptr;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                  CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* values[] = {&type, &managed, &device, &device_pointer, &host_pointer};
  RT_TRY(driver.cuPointerGetAttributes(5, wanted, values, device_address(ptr)));
  *attributes = {};
  attributes->type = memory_type(type, managed);
  const bool known = attributes->type != cudaMemoryTypeUnregistered;
  attributes->device = known ? device : cudaInvalidDeviceId;
  attributes->devicePointer = known ? reinterpret_cast<void*>(device_pointer) : nullptr;
  attributes->hostPointer = known ? host_pointer : nullptr;
  return cudaSuccess;
}

Outcome cudaIpcGetMemHandle(const Driver& driver, cudaIpcMemHandle_t* handle, void* devPtr) {
  return driver.cuIpcGetMemHandle(same_layout<CUipcMemHandle>(handle), device_address(devPtr));
}
Outcome cudaIpcOpenMemHandle(const Driver& driver, void** devPtr, cudaIpcMemHandle_t handle,
                             unsigned flags) {
  return driver.cuIpcOpenMemHandle(device_address_out(devPtr),
                                   *same_layout<CUipcMemHandle>(&handle), flags);
}
Outcome cudaIpcCloseMemHandle(const Driver& driver, void* devPtr) {
  return driver.cuIpcCloseMemHandle(device_address(devPtr));
}

}  // namespace impl
}  // namespace gacer::cudart
