// SPDX-License-Identifier: Apache-2.0
// cuMemAllocAsync and memory pools. A pool is only a name here: memory is taken from the device at
// once and given back when the stream has got to the free, so nothing is kept in reserve.
#include <atomic>
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/device_memory.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/handles.h"

using namespace gacer::simdriver;

namespace {

struct Pool {
  std::atomic<cuuint64_t> release_threshold{0};
  std::atomic<int> reuse[3] = {
      1, 1, 1};  // follow event dependencies, opportunistic, internal dependencies
};

HandleTable<CUmemoryPool, Pool>& pools() {
  static auto& table = *new HandleTable<CUmemoryPool, Pool>;
  return table;
}

CUmemoryPool default_pool() {
  static const CUmemoryPool pool = pools().add(std::make_shared<Pool>());
  return pool;
}

std::atomic<CUmemoryPool> current_pool{nullptr};

CUresult find_pool(CUmemoryPool handle, std::shared_ptr<Pool>& out) {
  SIM_TRY(Driver::get().ready());
  default_pool();
  out = pools().find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Graph memory nodes are not supported, so neither is allocation in a capture.
CUresult allocate_async(CUstream stream_handle, CUdeviceptr* out, size_t bytes) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(stream_handle, stream));
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_on_capturing(*stream));
  const std::shared_ptr<Context> context = stream->context.lock();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  uint64_t address = 0;
  SIM_TRY(allocate_device(*context, bytes, true, address));
  *out = address;
  return CUDA_SUCCESS;
}

CUresult allocate_from_pool(CUstream stream, CUdeviceptr* out, size_t bytes, CUmemoryPool handle) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  return allocate_async(stream, out, bytes);
}

CUresult free_async(CUstream stream_handle, CUdeviceptr address) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(stream_handle, stream));
  if (address == 0) return CUDA_SUCCESS;
  SIM_TRY(refuse_on_capturing(*stream));
  const auto allocation = Driver::get().memory.find(address);
  if (!allocation || allocation->base != address || allocation->kind != MemoryKind::kDevice)
    return CUDA_ERROR_INVALID_VALUE;
  if (!Driver::get().memory.remove(address)) return CUDA_ERROR_INVALID_VALUE;
  return free_after(*stream, *allocation);
}

int reuse_index(CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return 0;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      return 1;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return 2;
    default:
      return -1;
  }
}

}  // namespace

SIM_STREAM_PAIR(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUstream stream),
                allocate_async, stream, out, bytes)
SIM_STREAM_PAIR(cuMemAllocFromPoolAsync, _ptsz,
                (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream stream),
                allocate_from_pool, stream, out, bytes, pool)
SIM_STREAM_PAIR(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream), free_async, stream,
                address)

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = default_pool();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUmemoryPool set = current_pool.load(std::memory_order_relaxed);
  *out = set == nullptr ? default_pool() : set;
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  SIM_TRY(check_device(device));
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  current_pool.store(handle, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || props == nullptr || props->location.id != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;
  *out = pools().add(std::make_shared<Pool>());
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (handle == default_pool()) return CUDA_ERROR_INVALID_VALUE;
  CUmemoryPool expected = handle;
  current_pool.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  pools().remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  return collect_async_frees(false);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const int index = reuse_index(attribute); index >= 0) {
    pool->reuse[index].store(*static_cast<int*>(value), std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return CUDA_ERROR_NOT_SUPPORTED;
  pool->release_threshold.store(*static_cast<cuuint64_t*>(value), std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const int index = reuse_index(attribute); index >= 0) {
    *static_cast<int*>(value) = pool->reuse[index].load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    *static_cast<cuuint64_t*>(value) = pool->release_threshold.load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  if (attribute != CU_MEMPOOL_ATTR_USED_MEM_CURRENT &&
      attribute != CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    return CUDA_ERROR_NOT_SUPPORTED;
  *static_cast<cuuint64_t*>(value) = Driver::get().memory.pool_bytes();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* list, size_t count) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  return list == nullptr && count > 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* out, CUmemoryPool handle, CUmemLocation* location) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}
