// SPDX-License-Identifier: Apache-2.0
// Entry points: stream-ordered memory and its pools.
#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

using abi::CoveredFunction;

bool capturing(StreamRef stream) {
  return shim().captures.is_capturing(stream);
}

// What is recorded into a graph is charged when that is launched (memory_graphs.h); seen by name
// all the same, since a graph that is copied into another is not followed.
template <typename Call>
CUresult record(CoveredFunction function, StreamRef stream, const Call& call) {
  const CUresult result = call();
  if (result == CUDA_SUCCESS) count_unregulated(function, stream, true);
  return result;
}

template <typename Call, typename Undo>
CUresult allocate_from(CUmemoryPool pool, uint32_t device, CUdeviceptr* pointer, uint64_t bytes,
                       const Call& call, const Undo& undo) {
  return shim().pools.allocate(pool, device, pointer, bytes, call, undo);
}

template <typename Call, typename Undo>
CUresult allocate_async(CUdeviceptr* pointer, uint64_t bytes, StreamRef stream, const Call& call,
                        const Undo& undo) {
  const HookScope scope;
  if (!scope.outermost() || pointer == nullptr) return call();
  if (capturing(stream)) return record(CoveredFunction::k_cuMemAllocAsync, stream, call);
  const uint32_t device = shim().memory.devices().of_stream(stream.handle);
  CUmemoryPool pool = nullptr;
  if (device == kNoDevice ||
      driver().cuDeviceGetMemPool(&pool, static_cast<CUdevice>(device)) != CUDA_SUCCESS)
    return allocate_uncharged(CoveredFunction::k_cuMemAllocAsync, call);
  return allocate_from(pool, device, pointer, bytes, call, undo);
}

template <typename Call, typename Undo>
CUresult allocate_from_pool(CUdeviceptr* pointer, uint64_t bytes, CUmemoryPool pool,
                            StreamRef stream, const Call& call, const Undo& undo) {
  const HookScope scope;
  if (!scope.outermost() || pointer == nullptr) return call();
  if (capturing(stream)) return record(CoveredFunction::k_cuMemAllocFromPoolAsync, stream, call);
  const uint32_t device = shim().memory.devices().of_stream(stream.handle);
  if (device == kNoDevice)
    return allocate_uncharged(CoveredFunction::k_cuMemAllocFromPoolAsync, call);
  return allocate_from(pool, device, pointer, bytes, call, undo);
}

template <typename Call>
CUresult free_async(CUdeviceptr pointer, StreamRef stream, const Call& call) {
  if (!HookScope::inside() && capturing(stream)) {
    const HookScope scope;
    return call();
  }
  return deallocate(pointer, call);
}

template <typename Call>
CUresult import(abi::CoveredFunction function, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS)
    count_unregulated(function, abi::CoverageStream::kNoStream);
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#define GACER_ALLOC_ASYNC(symbol, free_symbol, per_thread)                            \
  CUresult gacer_hook_##symbol(CUdeviceptr* pointer, size_t bytes, CUstream stream) { \
    return allocate_async(                                                            \
        pointer, bytes, {stream, per_thread},                                         \
        [&] { return driver().symbol(pointer, bytes, stream); },                      \
        [&] { driver().free_symbol(*pointer, stream); });                             \
  }
GACER_ALLOC_ASYNC(cuMemAllocAsync, cuMemFreeAsync, false)
GACER_ALLOC_ASYNC(cuMemAllocAsync_ptsz, cuMemFreeAsync_ptsz, true)

#define GACER_ALLOC_FROM_POOL(symbol, free_symbol, per_thread)                        \
  CUresult gacer_hook_##symbol(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, \
                               CUstream stream) {                                     \
    return allocate_from_pool(                                                        \
        pointer, bytes, pool, {stream, per_thread},                                   \
        [&] { return driver().symbol(pointer, bytes, pool, stream); },                \
        [&] { driver().free_symbol(*pointer, stream); });                             \
  }
GACER_ALLOC_FROM_POOL(cuMemAllocFromPoolAsync, cuMemFreeAsync, false)
GACER_ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, cuMemFreeAsync_ptsz, true)

#define GACER_FREE_ASYNC(symbol, per_thread)                             \
  CUresult gacer_hook_##symbol(CUdeviceptr pointer, CUstream stream) {   \
    return free_async(pointer, {stream, per_thread},                     \
                      [&] { return driver().symbol(pointer, stream); }); \
  }
GACER_FREE_ASYNC(cuMemFreeAsync, false)
GACER_FREE_ASYNC(cuMemFreeAsync_ptsz, true)

CUresult gacer_hook_cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const HookScope scope;
  const CUresult result = driver().cuMemPoolCreate(pool, properties);
  if (scope.outermost() && result == CUDA_SUCCESS && pool != nullptr)
    shim().pools.created(*pool, properties);
  return result;
}

CUresult gacer_hook_cuMemPoolDestroy(CUmemoryPool pool) {
  const HookScope scope;
  if (!scope.outermost()) return driver().cuMemPoolDestroy(pool);
  return shim().pools.destroy(pool, [&] { return driver().cuMemPoolDestroy(pool); });
}

CUresult gacer_hook_cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) {
  const HookScope scope;
  const CUresult result = driver().cuMemPoolTrimTo(pool, bytes);
  if (scope.outermost()) shim().pools.changed(pool);
  return result;
}

CUresult gacer_hook_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which,
                                          void* value) {
  const HookScope scope;
  const CUresult result = driver().cuMemPoolSetAttribute(pool, which, value);
  if (scope.outermost()) shim().pools.changed(pool);
  return result;
}

CUresult gacer_hook_cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                                       CUmemAllocationHandleType type,
                                                       unsigned long long flags) {
  const HookScope scope;
  const CUresult result = driver().cuMemPoolImportFromShareableHandle(pool, handle, type, flags);
  if (scope.outermost() && result == CUDA_SUCCESS && pool != nullptr) shim().pools.imported(*pool);
  return result;
}

CUresult gacer_hook_cuMemPoolImportPointer(CUdeviceptr* pointer, CUmemoryPool pool,
                                           CUmemPoolPtrExportData* data) {
  return import(gacer::abi::CoveredFunction::k_cuMemPoolImportPointer,
                [&] { return driver().cuMemPoolImportPointer(pointer, pool, data); });
}

}  // extern "C"
