// SPDX-License-Identifier: Apache-2.0
// cuMemAllocAsync, cuMemFreeAsync, cuMemPool*
#include <fcntl.h>

#include <cstring>
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/device_memory.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/graph_memory.h"
#include "runtime/simdevice/driver/mem_pool.h"

using namespace gacer::simdriver;
using gacer::simdevice::PoolFigure;
using gacer::simdevice::PoolMsg;
using gacer::simdevice::SimType;

namespace {

// On a capturing stream the allocation becomes a node of the graph; it takes the pool's place only.
CUresult capture_allocation(const std::shared_ptr<Stream>& stream, const Pool& pool, size_t bytes,
                            CUdeviceptr* out, bool& captured) {
  const std::lock_guard lock(graph_lock());
  if (stream->capture == nullptr) return refuse_on_capturing(*stream);
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, pool.device};
  params.bytesize = bytes;
  std::shared_ptr<GraphMemory> memory;
  SIM_TRY(graph_memories().make(params, *stream->capture->graph, memory));
  const uint64_t address = memory->address;
  SIM_TRY(capture_work(stream, MemAllocWork{std::move(memory)}, captured));
  *out = address;
  return CUDA_SUCCESS;
}

CUresult capture_free(const std::shared_ptr<Stream>& stream, CUdeviceptr address, bool& captured) {
  const std::lock_guard lock(graph_lock());
  if (stream->capture == nullptr) return refuse_on_capturing(*stream);
  if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  Work work;
  const std::shared_ptr<Graph> graph = stream->capture->graph;
  SIM_TRY(make_free_work(*graph, address, work));
  SIM_TRY(capture_work(stream, work, captured));
  note_free_node(*graph, address);
  return CUDA_SUCCESS;
}

CUresult allocate_in(CUstream stream_handle, CUdeviceptr* out, size_t bytes, CUmemoryPool handle) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(stream_handle, stream));
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = stream->context.lock();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (handle == nullptr) SIM_TRY(current_pool(context->device(), handle));
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (pool->imported) return CUDA_ERROR_INVALID_VALUE;
  if (captures_active()) {
    bool captured = false;
    SIM_TRY(capture_allocation(stream, *pool, bytes, out, captured));
    if (captured) return CUDA_SUCCESS;
  }
  uint64_t address = 0;
  SIM_TRY(allocate_from(*pool, *stream, bytes, address));
  *out = address;
  return CUDA_SUCCESS;
}

CUresult allocate_async(CUstream stream, CUdeviceptr* out, size_t bytes) {
  return allocate_in(stream, out, bytes, nullptr);
}

CUresult allocate_from_pool(CUstream stream, CUdeviceptr* out, size_t bytes, CUmemoryPool handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return allocate_in(stream, out, bytes, handle);
}

CUresult free_async(CUstream stream_handle, CUdeviceptr address) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(stream_handle, stream));
  if (address == 0) return CUDA_SUCCESS;
  if (captures_active()) {
    bool captured = false;
    SIM_TRY(capture_free(stream, address, captured));
    if (captured) return CUDA_SUCCESS;
  }
  const auto allocation = Driver::get().memory.find(address);
  if (allocation && allocation->kind == MemoryKind::kGraph)
    return free_graph_memory(address, *stream);
  if (!allocation || allocation->base != address || allocation->kind != MemoryKind::kDevice)
    return CUDA_ERROR_INVALID_VALUE;
  if (!Driver::get().memory.remove(address)) return CUDA_ERROR_INVALID_VALUE;
  return free_after(*stream, *allocation);
}

PoolMsg pool_message(SimType type, const Pool& pool) {
  auto message = make_message<PoolMsg>(type);
  message.pool = pool.server_pool;
  return message;
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

PoolFigure figure_of(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
                 attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
             ? PoolFigure::kReserved
             : PoolFigure::kUsed;
}

CUresult read_figure(const Pool& pool, CUmemPool_attribute attribute, cuuint64_t& out) {
  SIM_TRY(collect_async_frees(false));
  PoolMsg message = pool_message(SimType::kPoolUsage, pool);
  message.figure = static_cast<uint32_t>(figure_of(attribute));
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  const bool highest =
      attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
  out = highest ? reply.value2 : reply.value;
  return CUDA_SUCCESS;
}

// Only to zero, which means: to what it is now.
CUresult reset_highest(const Pool& pool, CUmemPool_attribute attribute, cuuint64_t value) {
  if (value != 0) return CUDA_ERROR_INVALID_VALUE;
  PoolMsg message = pool_message(SimType::kPoolResetHighest, pool);
  message.figure = static_cast<uint32_t>(figure_of(attribute));
  return Driver::get().link().request(message).error;
}

CUresult check_props(const CUmemPoolProps& props) {
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props.win32SecurityAttributes != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  switch (props.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      if (check_device(props.location.id) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
      return props.handleTypes == CU_MEM_HANDLE_TYPE_NONE ? CUDA_ERROR_NOT_SUPPORTED
                                                          : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const bool exportable = props.handleTypes == CU_MEM_HANDLE_TYPE_NONE ||
                          props.handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return exportable && props.usage == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult set_access(Pool& pool, const CUmemAccessDesc& wanted) {
  if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      check_device(wanted.location.id) != CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_VALUE;
  const bool own = wanted.location.id == pool.device;
  if (own && wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  PoolMsg message = pool_message(SimType::kPoolAccess, pool);
  message.location = Driver::get().index_of(wanted.location.id);
  message.access = wanted.flags;
  SIM_TRY(Driver::get().link().request(message).error);
  const std::lock_guard lock(pool.mutex);
  if (!own) pool.access[wanted.location.id] = wanted.flags;
  return CUDA_SUCCESS;
}

// What CUmemPoolPtrExportData holds.
struct PointerData {
  uint64_t magic;
  gacer::simdevice::ShareToken token;
  uint64_t bytes;
};
constexpr uint64_t kPointerMagic = 0x4c4f'4f50'4d49'53ULL;  // "SIMPOOL"
static_assert(sizeof(PointerData) <= sizeof(CUmemPoolPtrExportData));

void remember_import(const Pool& pool, const Context& context, const Reply& reply, uint64_t bytes) {
  Allocation allocation;
  allocation.base = reply.value;
  allocation.bytes = std::min(bytes, reply.value2);
  allocation.context_id = context.id();
  allocation.device = pool.device;
  allocation.buffer_id = Driver::get().next_unique_id();
  allocation.pool = pool.server_pool;
  allocation.handle_types = pool.handle_types;
  Driver::get().memory.add(allocation);
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
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : default_pool(device, *out);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  SIM_TRY(check_device(device));
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : current_pool(device, *out);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  SIM_TRY(check_device(device));
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (pool->device != device || pool->imported) return CUDA_ERROR_INVALID_VALUE;
  set_current_pool(device, handle);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_props(*props));
  std::shared_ptr<Pool> pool;
  SIM_TRY(create_pool(props->location.id, props->handleTypes, props->maxSize, pool));
  *out = pools().add(std::move(pool));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(collect_async_frees(false));
  forget_current_pool(handle);
  if (pools().remove(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Driver::get().link().request(pool_message(SimType::kPoolDestroy, *pool)).error;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_bytes) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  SIM_TRY(collect_async_frees(false));
  PoolMsg message = pool_message(SimType::kPoolTrim, *pool);
  message.bytes = keep_bytes;
  return Driver::get().link().request(message).error;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const int index = reuse_index(attribute); index >= 0) {
    pool->reuse[static_cast<size_t>(index)].store(*static_cast<int*>(value),
                                                  std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  const cuuint64_t number = *static_cast<cuuint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->release_threshold.store(number, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return reset_highest(*pool, attribute, number);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const int index = reuse_index(attribute); index >= 0) {
    *static_cast<int*>(value) =
        pool->reuse[static_cast<size_t>(index)].load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  cuuint64_t& number = *static_cast<cuuint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      number = pool->release_threshold.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return read_figure(*pool, attribute, number);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* list, size_t count) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (list == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) SIM_TRY(set_access(*pool, list[i]));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* out, CUmemoryPool handle, CUmemLocation* location) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_SUCCESS;
  if (check_device(location->id) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  const auto found = pool->access.find(location->id);
  if (location->id == pool->device) *out = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (found != pool->access.end()) *out = found->second;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportToShareableHandle(void* out, CUmemoryPool handle,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  std::shared_ptr<Pool> pool;
  SIM_TRY(find_pool(handle, pool));
  if (out == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      pool->handle_types != type || pool->imported)
    return CUDA_ERROR_INVALID_VALUE;
  Reply reply = Driver::get().link().request(pool_message(SimType::kPoolExport, *pool));
  SIM_TRY(reply.error);
  *static_cast<int*>(out) = reply.fd.release();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* shareable,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  SIM_TRY(Driver::get().ready());
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
  if (out == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      fcntl(fd, F_GETFD) < 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto pool = std::make_shared<Pool>();
  const Reply reply = Driver::get().link().request(make_message<PoolMsg>(SimType::kPoolImport), fd);
  SIM_TRY(reply.error);
  pool->server_pool = reply.value;
  const auto device = Driver::get().ordinal_of(reply.detail);
  if (!device) {
    Driver::get().link().request(pool_message(SimType::kPoolDestroy, *pool));
    return CUDA_ERROR_INVALID_VALUE;
  }
  pool->device = *device;
  pool->handle_types = type;
  pool->imported = true;
  *out = pools().add(std::move(pool));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  const auto allocation = Driver::get().memory.find(address);
  if (out == nullptr || !allocation || allocation->base != address || allocation->pool == 0 ||
      allocation->handle_types == CU_MEM_HANDLE_TYPE_NONE)
    return CUDA_ERROR_INVALID_VALUE;
  auto message = make_message<gacer::simdevice::TokenMsg>(SimType::kExportToken);
  message.address = address;
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  const PointerData data{kPointerMagic, {{reply.value, reply.value2}}, allocation->bytes};
  *out = {};
  memcpy(out->reserved, &data, sizeof data);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool handle,
                                CUmemPoolPtrExportData* from) {
  std::shared_ptr<Pool> pool;
  std::shared_ptr<Context> context;
  SIM_TRY(find_pool(handle, pool));
  SIM_TRY(current_context(context));
  if (out == nullptr || from == nullptr || !pool->imported) return CUDA_ERROR_INVALID_VALUE;
  PointerData data{};
  memcpy(&data, from->reserved, sizeof data);
  if (data.magic != kPointerMagic) return CUDA_ERROR_INVALID_VALUE;
  PoolMsg message = pool_message(SimType::kPoolImportPointer, *pool);
  message.token = data.token;
  message.context = context->id();
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  remember_import(*pool, *context, reply, data.bytes);
  *out = reply.value;
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
namespace {

CUresult check_pool_location(const CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_NOT_SUPPORTED;
  return check_device(location->id);
}

}  // namespace

CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location,
                                CUmemAllocationType type) {
  SIM_TRY(Driver::get().ready());
  SIM_TRY(check_pool_location(location, type));
  return cuDeviceGetDefaultMemPool(out, location->id);
}
CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  SIM_TRY(Driver::get().ready());
  SIM_TRY(check_pool_location(location, type));
  return cuDeviceGetMemPool(out, location->id);
}
CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  SIM_TRY(Driver::get().ready());
  SIM_TRY(check_pool_location(location, type));
  return cuDeviceSetMemPool(location->id, pool);
}
#endif
