// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory and its pools; where managed memory lies.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

CUmemoryPool as_pool(cudaMemPool_t pool) {
  return reinterpret_cast<CUmemoryPool>(pool);
}
CUmemoryPool* as_pool(cudaMemPool_t* pool) {
  return reinterpret_cast<CUmemoryPool*>(pool);
}
CUmemAllocationHandleType handle_type(cudaMemAllocationHandleType type) {
  return static_cast<CUmemAllocationHandleType>(type);
}

}  // namespace

namespace impl {

Outcome cudaMallocAsync(const Driver& driver, void** devPtr, size_t size, cudaStream_t hStream) {
  return driver.cuMemAllocAsync(device_address_out(devPtr), size, hStream);
}
Outcome cudaFreeAsync(const Driver& driver, void* devPtr, cudaStream_t hStream) {
  return driver.cuMemFreeAsync(device_address(devPtr), hStream);
}
Outcome cudaMallocFromPoolAsync(const Driver& driver, void** ptr, size_t size,
                                cudaMemPool_t memPool, cudaStream_t stream) {
  return driver.cuMemAllocFromPoolAsync(device_address_out(ptr), size, as_pool(memPool), stream);
}
Outcome cudaMemPoolCreate(const Driver& driver, cudaMemPool_t* memPool,
                          const cudaMemPoolProps* poolProps) {
  return driver.cuMemPoolCreate(as_pool(memPool), same_layout<CUmemPoolProps>(poolProps));
}
Outcome cudaMemPoolDestroy(const Driver& driver, cudaMemPool_t memPool) {
  return driver.cuMemPoolDestroy(as_pool(memPool));
}
Outcome cudaMemPoolTrimTo(const Driver& driver, cudaMemPool_t memPool, size_t minBytesToKeep) {
  return driver.cuMemPoolTrimTo(as_pool(memPool), minBytesToKeep);
}
Outcome cudaMemPoolSetAttribute(const Driver& driver, cudaMemPool_t memPool, cudaMemPoolAttr attr,
                                void* value) {
  return driver.cuMemPoolSetAttribute(as_pool(memPool), static_cast<CUmemPool_attribute>(attr),
                                      value);
}
Outcome cudaMemPoolGetAttribute(const Driver& driver, cudaMemPool_t memPool, cudaMemPoolAttr attr,
                                void* value) {
  return driver.cuMemPoolGetAttribute(as_pool(memPool), static_cast<CUmemPool_attribute>(attr),
                                      value);
}
Outcome cudaMemPoolSetAccess(const Driver& driver, cudaMemPool_t memPool,
                             const cudaMemAccessDesc* descList, size_t count) {
  return driver.cuMemPoolSetAccess(as_pool(memPool), same_layout<CUmemAccessDesc>(descList), count);
}
Outcome cudaMemPoolGetAccess(const Driver& driver, cudaMemAccessFlags* flags, cudaMemPool_t memPool,
                             cudaMemLocation* location) {
  return driver.cuMemPoolGetAccess(same_layout<CUmemAccess_flags>(flags), as_pool(memPool),
                                   same_layout<CUmemLocation>(location));
}
Outcome cudaMemPoolExportToShareableHandle(const Driver& driver, void* shareableHandle,
                                           cudaMemPool_t memPool,
                                           cudaMemAllocationHandleType handleType, unsigned flags) {
  return driver.cuMemPoolExportToShareableHandle(shareableHandle, as_pool(memPool),
                                                 handle_type(handleType), flags);
}
Outcome cudaMemPoolImportFromShareableHandle(const Driver& driver, cudaMemPool_t* memPool,
                                             void* shareableHandle,
                                             cudaMemAllocationHandleType handleType,
                                             unsigned flags) {
  return driver.cuMemPoolImportFromShareableHandle(as_pool(memPool), shareableHandle,
                                                   handle_type(handleType), flags);
}
Outcome cudaMemPoolExportPointer(const Driver& driver, cudaMemPoolPtrExportData* exportData,
                                 void* ptr) {
  return driver.cuMemPoolExportPointer(same_layout<CUmemPoolPtrExportData>(exportData),
                                       device_address(ptr));
}
Outcome cudaMemPoolImportPointer(const Driver& driver, void** ptr, cudaMemPool_t memPool,
                                 cudaMemPoolPtrExportData* exportData) {
  return driver.cuMemPoolImportPointer(device_address_out(ptr), as_pool(memPool),
                                       same_layout<CUmemPoolPtrExportData>(exportData));
}

Outcome cudaMemGetDefaultMemPool(const Driver& driver, cudaMemPool_t* memPool,
                                 cudaMemLocation* location, cudaMemAllocationType type) {
  return driver.cuMemGetDefaultMemPool(as_pool(memPool), same_layout<CUmemLocation>(location),
                                       static_cast<CUmemAllocationType>(type));
}
Outcome cudaMemGetMemPool(const Driver& driver, cudaMemPool_t* memPool, cudaMemLocation* location,
                          cudaMemAllocationType type) {
  return driver.cuMemGetMemPool(as_pool(memPool), same_layout<CUmemLocation>(location),
                                static_cast<CUmemAllocationType>(type));
}
Outcome cudaMemSetMemPool(const Driver& driver, cudaMemLocation* location,
                          cudaMemAllocationType type, cudaMemPool_t memPool) {
  return driver.cuMemSetMemPool(same_layout<CUmemLocation>(location),
                                static_cast<CUmemAllocationType>(type), as_pool(memPool));
}
Outcome cudaDeviceGetDefaultMemPool(const Driver& driver, cudaMemPool_t* memPool, int device) {
  RT_TRY(check_device(device));
  return driver.cuDeviceGetDefaultMemPool(as_pool(memPool), device);
}
Outcome cudaDeviceSetMemPool(const Driver& driver, int device, cudaMemPool_t memPool) {
  RT_TRY(check_device(device));
  return driver.cuDeviceSetMemPool(device, as_pool(memPool));
}
Outcome cudaDeviceGetMemPool(const Driver& driver, cudaMemPool_t* memPool, int device) {
  RT_TRY(check_device(device));
  return driver.cuDeviceGetMemPool(as_pool(memPool), device);
}

Outcome cudaMemPrefetchAsync(const Driver& driver, const void* devPtr, size_t count,
                             cudaMemLocation location, unsigned flags, cudaStream_t stream) {
  return driver.cuMemPrefetchAsync(device_address(devPtr), count, driver_location(location), flags,
                                   stream);
}
Outcome cudaMemAdvise(const Driver& driver, const void* devPtr, size_t count,
                      cudaMemoryAdvise advice, cudaMemLocation location) {
  return driver.cuMemAdvise(device_address(devPtr), count, static_cast<CUmem_advise>(advice),
                            driver_location(location));
}
Outcome cudaMemPrefetchBatchAsync(const Driver& driver, void** dptrs, size_t* sizes, size_t count,
                                  cudaMemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                  size_t numPrefetchLocs, unsigned long long flags,
                                  cudaStream_t stream) {
  return driver.cuMemPrefetchBatchAsync(device_address_out(dptrs), sizes, count,
                                        same_layout<CUmemLocation>(prefetchLocs), prefetchLocIdxs,
                                        numPrefetchLocs, flags, stream);
}
Outcome cudaMemDiscardBatchAsync(const Driver& driver, void** dptrs, size_t* sizes, size_t count,
                                 unsigned long long flags, cudaStream_t stream) {
  return driver.cuMemDiscardBatchAsync(device_address_out(dptrs), sizes, count, flags, stream);
}
Outcome cudaMemDiscardAndPrefetchBatchAsync(const Driver& driver, void** dptrs, size_t* sizes,
                                            size_t count, cudaMemLocation* prefetchLocs,
                                            size_t* prefetchLocIdxs, size_t numPrefetchLocs,
                                            unsigned long long flags, cudaStream_t stream) {
  return driver.cuMemDiscardAndPrefetchBatchAsync(device_address_out(dptrs), sizes, count,
                                                  same_layout<CUmemLocation>(prefetchLocs),
                                                  prefetchLocIdxs, numPrefetchLocs, flags, stream);
}
Outcome cudaMemRangeGetAttribute(const Driver& driver, void* data, size_t dataSize,
                                 cudaMemRangeAttribute attribute, const void* devPtr,
                                 size_t count) {
  return driver.cuMemRangeGetAttribute(
      data, dataSize, static_cast<CUmem_range_attribute>(attribute), device_address(devPtr), count);
}
Outcome cudaMemRangeGetAttributes(const Driver& driver, void** data, size_t* dataSizes,
                                  cudaMemRangeAttribute* attributes, size_t numAttributes,
                                  const void* devPtr, size_t count) {
  return driver.cuMemRangeGetAttributes(data, dataSizes,
                                        same_layout<CUmem_range_attribute>(attributes),
                                        numAttributes, device_address(devPtr), count);
}

}  // namespace impl
}  // namespace gacer::cudart
