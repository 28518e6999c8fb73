// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/fake_memory.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "interpose/driver.h"
#include "interpose/memory_arrays.h"
#include "interpose/shim.h"
#include "tests/unit/interpose/fake_driver.h"

namespace gacer::test {
namespace {

using Kind = FakeMemory::Kind;

std::unique_ptr<FakeMemory> the_memory;
thread_local int here = 0;  // device of this thread's context
constexpr uint64_t kMiB = uint64_t{1} << 20;

FakeMemory& mem() {
  return *the_memory;
}

// Every call of ours starts with this: the lock, and the failure that a test has ordered.
class Call {
 public:
  Call() : lock_(mem().mutex) {
    ++mem().calls;
    fails_ = mem().fail_call != 0 && --mem().fail_call == 0;
  }
  bool fails() const { return fails_; }

 private:
  std::lock_guard<std::mutex> lock_;
  bool fails_;
};
#define GACER_CALL() \
  const Call call;   \
  if (call.fails()) return mem().failure

bool valid(int device) {
  return device >= 0 && device < static_cast<int>(mem().devices.size());
}
uint64_t fresh(uint64_t bytes = 0x1000) {
  const uint64_t number = mem().next;
  mem().next += (bytes + 0x1fffff) / 0x1000 * 0x1000;
  return number;
}
bool take(int device, uint64_t bytes) {
  if (device < 0) return true;
  FakeMemory::Device& d = mem().devices[static_cast<size_t>(device)];
  if (bytes > d.total - d.used) return false;
  d.used += bytes;
  return true;
}
void give(int device, uint64_t bytes) {
  if (device >= 0) mem().devices[static_cast<size_t>(device)].used -= bytes;
}
CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(uint64_t{0xc000} + static_cast<uint64_t>(device) * 0x10);
}

CUresult get_device(CUdevice* device) {
  GACER_CALL();
  if (here < 0) return CUDA_ERROR_INVALID_CONTEXT;
  *device = here;
  return CUDA_SUCCESS;
}
CUresult get_current(CUcontext* context) {
  *context = here < 0 ? nullptr : context_of(here);
  return CUDA_SUCCESS;
}
CUresult stream_context(CUstream, CUcontext* context) {
  return get_current(context);
}
CUresult device_count(int* count) {
  *count = static_cast<int>(mem().devices.size());
  return CUDA_SUCCESS;
}
CUresult device_get(CUdevice* device, int ordinal) {
  if (!valid(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult device_uuid(CUuuid* uuid, CUdevice device) {
  if (!valid(device)) return CUDA_ERROR_INVALID_DEVICE;
  memset(uuid, 0, sizeof *uuid);
  const auto index = static_cast<size_t>(device);
  const auto& names = mem().uuid_of;
  uuid->bytes[0] = static_cast<char>(index < names.size() ? names[index] : device + 1);
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = static_cast<int>(which);
  if (which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *value = 100;
  if (which == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) *value = 2048;
  if (static_cast<int>(which) == 133) *value = mem().mps ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult total_memory(size_t* bytes, CUdevice device) {
  if (!valid(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = mem().devices[static_cast<size_t>(device)].total;
  return CUDA_SUCCESS;
}
CUresult memory_info(size_t* free_bytes, size_t* total_bytes) {
  GACER_CALL();
  if (here < 0) return CUDA_ERROR_INVALID_CONTEXT;
  const FakeMemory::Device& d = mem().devices[static_cast<size_t>(here)];
  if (free_bytes != nullptr) *free_bytes = d.total - d.used;
  if (total_bytes != nullptr) *total_bytes = d.total;
  return CUDA_SUCCESS;
}

CUresult create_context(CUcontext* context, unsigned, CUdevice device) {
  GACER_CALL();
  if (!valid(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = reinterpret_cast<CUcontext>(fresh());
  mem().contexts[*context] = device;
  return CUDA_SUCCESS;
}
void free_of_context(CUcontext context) {
  auto& all = mem().allocations;
  for (auto it = all.begin(); it != all.end();) {
    const bool ends = it->second.context == context && it->second.kind != Kind::kPooled;
    if (ends) give(it->second.device, it->second.bytes);
    it = ends ? all.erase(it) : std::next(it);
  }
}
CUresult destroy_context(CUcontext context) {
  GACER_CALL();
  free_of_context(context);
  mem().contexts.erase(context);
  return CUDA_SUCCESS;
}
CUresult retain_primary(CUcontext* context, CUdevice device) {
  GACER_CALL();
  if (!valid(device)) return CUDA_ERROR_INVALID_DEVICE;
  mem().devices[static_cast<size_t>(device)].primary_active = true;
  *context = context_of(device);
  return CUDA_SUCCESS;
}
CUresult reset_primary(CUdevice device) {
  GACER_CALL();
  free_of_context(context_of(device));
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* pointer, uint64_t bytes, Kind kind) {
  if (here < 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!take(here, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = fresh(bytes);
  mem().allocations[*pointer] = {kind, bytes, here, 0, context_of(here)};
  return CUDA_SUCCESS;
}
CUresult mem_alloc(CUdeviceptr* pointer, size_t bytes) {
  GACER_CALL();
  return allocate(pointer, bytes, Kind::kPlain);
}
CUresult mem_alloc_managed(CUdeviceptr* pointer, size_t bytes, unsigned) {
  GACER_CALL();
  return allocate(pointer, bytes, Kind::kManaged);
}
CUresult mem_alloc_pitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                         unsigned) {
  GACER_CALL();
  *pitch = (width + 511) / 512 * 512;
  return allocate(pointer, *pitch * height, Kind::kPlain);
}

void free_pooled(const FakeMemory::Allocation& allocation) {
  FakeMemory::Pool& pool = mem().pools[allocation.pool];
  pool.used -= allocation.bytes;
  if (!pool.destroyed || pool.used != 0) return;
  give(pool.device, pool.reserved);
  pool.reserved = 0;
}
CUresult end_allocation(CUdeviceptr pointer, bool async) {
  const auto found = mem().allocations.find(pointer);
  if (found == mem().allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  const FakeMemory::Allocation allocation = found->second;
  const bool pooled = allocation.kind == Kind::kPooled || allocation.kind == Kind::kGraph;
  if (async && !pooled) return CUDA_ERROR_INVALID_VALUE;
  mem().allocations.erase(found);
  if (allocation.kind == Kind::kPooled)
    free_pooled(allocation);
  else if (allocation.kind == Kind::kGraph)
    mem().devices[static_cast<size_t>(allocation.device)].graph_used -= allocation.bytes;
  else
    give(allocation.device, allocation.bytes);
  return CUDA_SUCCESS;
}
CUresult mem_free(CUdeviceptr pointer) {
  GACER_CALL();
  return pointer == 0 ? CUDA_SUCCESS : end_allocation(pointer, false);
}
CUresult mem_free_async(CUdeviceptr pointer, CUstream) {
  GACER_CALL();
  return end_allocation(pointer, true);
}

CUresult allocate_pooled(CUdeviceptr* pointer, uint64_t bytes, uint64_t handle) {
  const auto found = mem().pools.find(handle);
  if (found == mem().pools.end() || found->second.destroyed || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  FakeMemory::Pool& pool = found->second;
  if (pool.used + bytes > pool.reserved) {
    const uint64_t more = pool.used + bytes - pool.reserved;
    const uint64_t growth = (more + mem().pool_step - 1) / mem().pool_step * mem().pool_step;
    if (!take(pool.device, growth)) return CUDA_ERROR_OUT_OF_MEMORY;
    pool.reserved += growth;
  }
  pool.used += bytes;
  *pointer = fresh(bytes);
  mem().allocations[*pointer] = {Kind::kPooled, bytes, pool.device, handle, nullptr};
  return CUDA_SUCCESS;
}
uint64_t default_pool(int device) {
  const uint64_t handle = 0xdef000 + static_cast<uint64_t>(device);
  if (mem().pools.count(handle) == 0) mem().pools[handle].device = device;
  return handle;
}
CUresult mem_alloc_async(CUdeviceptr* pointer, size_t bytes, CUstream) {
  GACER_CALL();
  return here < 0 ? CUDA_ERROR_INVALID_CONTEXT
                  : allocate_pooled(pointer, bytes, default_pool(here));
}
CUresult mem_alloc_from_pool(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, CUstream) {
  GACER_CALL();
  return allocate_pooled(pointer, bytes, reinterpret_cast<uint64_t>(pool));
}
CUresult device_pool(CUmemoryPool* pool, CUdevice device) {
  GACER_CALL();
  *pool = reinterpret_cast<CUmemoryPool>(default_pool(device));
  return CUDA_SUCCESS;
}
CUresult pool_create(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  GACER_CALL();
  const uint64_t handle = fresh();
  const bool device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  mem().pools[handle].device = device ? properties->location.id : -1;
  *pool = reinterpret_cast<CUmemoryPool>(handle);
  return CUDA_SUCCESS;
}
CUresult pool_import(CUmemoryPool* pool, void*, CUmemAllocationHandleType, unsigned long long) {
  GACER_CALL();
  const uint64_t handle = fresh();
  mem().pools[handle].device = -1;  // its exporter's memory
  mem().pools[handle].imported = true;
  *pool = reinterpret_cast<CUmemoryPool>(handle);
  return CUDA_SUCCESS;
}
CUresult import_pointer(CUdeviceptr* pointer, CUmemoryPool pool, CUmemPoolPtrExportData*) {
  GACER_CALL();
  return allocate_pooled(pointer, 64, reinterpret_cast<uint64_t>(pool));
}
CUresult pool_destroy(CUmemoryPool pool) {
  GACER_CALL();
  const auto found = mem().pools.find(reinterpret_cast<uint64_t>(pool));
  if (found == mem().pools.end() || found->second.destroyed) return CUDA_ERROR_INVALID_VALUE;
  found->second.destroyed = true;
  if (found->second.used != 0) return CUDA_SUCCESS;
  give(found->second.device, found->second.reserved);
  found->second.reserved = 0;
  return CUDA_SUCCESS;
}
void shrink(FakeMemory::Pool& pool, uint64_t keep) {
  const uint64_t least = std::min(std::max(keep, pool.used), pool.reserved);
  const uint64_t wanted = (least + mem().pool_step - 1) / mem().pool_step * mem().pool_step;
  if (wanted >= pool.reserved) return;
  give(pool.device, pool.reserved - wanted);
  pool.reserved = wanted;
}
CUresult pool_trim(CUmemoryPool pool, size_t keep) {
  GACER_CALL();
  const auto found = mem().pools.find(reinterpret_cast<uint64_t>(pool));
  if (found == mem().pools.end() || found->second.destroyed) return CUDA_ERROR_INVALID_VALUE;
  shrink(found->second, keep);
  return CUDA_SUCCESS;
}
CUresult pool_set(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  GACER_CALL();
  if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    mem().pools[reinterpret_cast<uint64_t>(pool)].threshold = *static_cast<cuuint64_t*>(value);
  return CUDA_SUCCESS;
}
CUresult pool_get(CUmemoryPool handle, CUmemPool_attribute which, void* value) {
  GACER_CALL();
  const auto found = mem().pools.find(reinterpret_cast<uint64_t>(handle));
  if (found == mem().pools.end() || found->second.destroyed) return CUDA_ERROR_INVALID_VALUE;
  const FakeMemory::Pool& pool = found->second;
  const bool reserved = which == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
  *static_cast<cuuint64_t*>(value) = reserved ? pool.reserved : pool.used;
  return CUDA_SUCCESS;
}
CUresult synchronize(CUstream) {
  GACER_CALL();
  for (auto& [handle, pool] : mem().pools) shrink(pool, pool.threshold);
  return CUDA_SUCCESS;
}

void end_block(uint64_t id) {
  FakeMemory::Block& block = mem().blocks[id];
  if (block.handles != 0 || block.mappings != 0) return;
  give(block.device, block.bytes);
  mem().blocks.erase(id);
}
CUresult mem_create(CUmemGenericAllocationHandle* handle, size_t bytes,
                    const CUmemAllocationProp* properties, unsigned long long) {
  GACER_CALL();
  if (properties == nullptr || bytes == 0 || bytes % (2 * kMiB) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const int type = static_cast<int>(properties->location.type);
  if (type < 1 || type > 4) return CUDA_ERROR_INVALID_VALUE;
  const int device = type == 1 ? properties->location.id : -1;
  if (type == 1 && !valid(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!take(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = fresh();
  mem().blocks[*handle] = {bytes, device, 1, 0};
  mem().block_of_handle[*handle] = *handle;
  return CUDA_SUCCESS;
}
CUresult mem_release(CUmemGenericAllocationHandle handle) {
  GACER_CALL();
  const auto found = mem().block_of_handle.find(handle);
  if (found == mem().block_of_handle.end()) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t id = found->second;
  if (--mem().blocks[id].handles == 0) mem().block_of_handle.erase(found);
  end_block(id);
  return CUDA_SUCCESS;
}
CUresult mem_map(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                 unsigned long long) {
  GACER_CALL();
  const auto found = mem().block_of_handle.find(handle);
  if (found == mem().block_of_handle.end() || mem().mappings.count(address) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  mem().mappings[address] = {bytes, found->second};
  ++mem().blocks[found->second].mappings;
  return CUDA_SUCCESS;
}
CUresult mem_unmap(CUdeviceptr address, size_t bytes) {
  GACER_CALL();
  if (mem().mappings.count(address) == 0) return CUDA_ERROR_INVALID_VALUE;
  for (auto it = mem().mappings.lower_bound(address);
       it != mem().mappings.end() && it->first < address + bytes;) {
    const uint64_t id = it->second.second;
    it = mem().mappings.erase(it);
    --mem().blocks[id].mappings;
    end_block(id);
  }
  return CUDA_SUCCESS;
}
CUresult mem_retain(CUmemGenericAllocationHandle* handle, void* address) {
  GACER_CALL();
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  auto it = mem().mappings.upper_bound(at);
  if (it == mem().mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
  --it;
  if (at - it->first >= it->second.first) return CUDA_ERROR_INVALID_VALUE;
  *handle = it->second.second;
  mem().block_of_handle[*handle] = it->second.second;
  ++mem().blocks[it->second.second].handles;
  return CUDA_SUCCESS;
}
CUresult mem_import(CUmemGenericAllocationHandle* handle, void*, CUmemAllocationHandleType) {
  GACER_CALL();
  *handle = fresh();
  mem().blocks[*handle] = {2 * kMiB, -1, 1, 0};
  mem().block_of_handle[*handle] = *handle;
  return CUDA_SUCCESS;
}

CUresult make_array(uint64_t* array, uint64_t bytes) {
  if (here < 0) return CUDA_ERROR_INVALID_CONTEXT;
  bytes += bytes == 0 ? 0 : mem().array_extra_bytes;
  if (!take(here, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *array = fresh();
  mem().arrays[*array] = {bytes, here};
  return CUDA_SUCCESS;
}
template <typename Handle>
CUresult array_create(Handle* array, uint64_t bytes) {
  GACER_CALL();
  return make_array(reinterpret_cast<uint64_t*>(array), bytes);
}
CUresult array_create_2d(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* shape) {
  return array_create(array, interpose::array_bytes(interpose::flat_shape(*shape)));
}
CUresult array_create_3d(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  return array_create(array, interpose::array_bytes(*shape));
}
CUresult mipmap_create(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape,
                       unsigned levels) {
  return array_create(array, interpose::mipmap_bytes(*shape, levels));
}
template <typename Handle>
CUresult array_destroy(Handle array) {
  GACER_CALL();
  const auto found = mem().arrays.find(reinterpret_cast<uint64_t>(array));
  if (found == mem().arrays.end()) return CUDA_ERROR_INVALID_HANDLE;
  give(found->second.device, found->second.bytes);
  mem().arrays.erase(found);
  return CUDA_SUCCESS;
}
template <typename Handle>
CUresult array_requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* answer, Handle array, CUdevice) {
  GACER_CALL();
  if (!mem().knows_array_size) return CUDA_ERROR_INVALID_VALUE;
  answer->size = mem().arrays[reinterpret_cast<uint64_t>(array)].bytes;
  return CUDA_SUCCESS;
}

CUresult graph_get_nodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  GACER_CALL();
  const auto& mine = mem().graph_nodes[reinterpret_cast<uint64_t>(graph)];
  for (size_t i = 0; nodes != nullptr && i < mine.size(); ++i)
    nodes[i] = reinterpret_cast<CUgraphNode>(mine[i]);
  *count = mine.size();
  return CUDA_SUCCESS;
}
CUresult node_type(CUgraphNode node, CUgraphNodeType* type) {
  const bool allocates = mem().alloc_nodes.count(reinterpret_cast<uint64_t>(node)) != 0;
  *type = allocates ? CU_GRAPH_NODE_TYPE_MEM_ALLOC : CU_GRAPH_NODE_TYPE_EMPTY;
  return CUDA_SUCCESS;
}
CUresult node_params(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  GACER_CALL();
  *params = mem().alloc_nodes[reinterpret_cast<uint64_t>(node)];
  return CUDA_SUCCESS;
}
CUresult instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  GACER_CALL();
  uint64_t bytes = 0;
  int device = 0;
  for (const uint64_t node : mem().graph_nodes[reinterpret_cast<uint64_t>(graph)]) {
    bytes += mem().alloc_nodes[node].bytesize;
    device = mem().alloc_nodes[node].poolProps.location.id;
  }
  const uint64_t handle = fresh();
  mem().execs[handle] = {bytes, device};
  *exec = reinterpret_cast<CUgraphExec>(handle);
  return CUDA_SUCCESS;
}
// The graph frees its memory at its end; the device keeps it reserved.
CUresult launch(CUgraphExec exec, CUstream) {
  GACER_CALL();
  const auto& [bytes, device] = mem().execs[reinterpret_cast<uint64_t>(exec)];
  FakeMemory::Device& d = mem().devices[static_cast<size_t>(device)];
  if (d.graph_used + bytes > d.graph_reserved) {
    const uint64_t more = d.graph_used + bytes - d.graph_reserved;
    if (!take(device, more)) return CUDA_ERROR_OUT_OF_MEMORY;
    d.graph_reserved += more;
  }
  return CUDA_SUCCESS;
}
CUresult graph_memory(CUdevice device, CUgraphMem_attribute which, void* value) {
  GACER_CALL();
  const FakeMemory::Device& d = mem().devices[static_cast<size_t>(device)];
  const bool reserved = which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT;
  *static_cast<cuuint64_t*>(value) = reserved ? d.graph_reserved : d.graph_used;
  return CUDA_SUCCESS;
}
CUresult graph_trim(CUdevice device) {
  GACER_CALL();
  FakeMemory::Device& d = mem().devices[static_cast<size_t>(device)];
  give(device, d.graph_reserved - d.graph_used);
  d.graph_reserved = d.graph_used;
  return CUDA_SUCCESS;
}

CUresult ipc_open(CUdeviceptr* pointer, CUipcMemHandle, unsigned) {
  GACER_CALL();
  *pointer = fresh();
  mem().allocations[*pointer] = {Kind::kImported, 0, here, 0, nullptr};
  return CUDA_SUCCESS;
}
CUresult import_external(CUexternalMemory* memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*) {
  GACER_CALL();
  *memory = reinterpret_cast<CUexternalMemory>(fresh());
  return CUDA_SUCCESS;
}

template <typename Function>
void* address_of(Function function) {
  return reinterpret_cast<void*>(function);
}

void* memory_symbol(void* context, const char* symbol) {
  static const std::map<std::string, void*> symbols = {
      {"cuCtxGetDevice", address_of(&get_device)},
      {"cuCtxGetCurrent", address_of(&get_current)},
      {"cuStreamGetCtx", address_of(&stream_context)},
      {"cuDeviceGetCount", address_of(&device_count)},
      {"cuDeviceGet", address_of(&device_get)},
      {"cuDeviceGetUuid_v2", address_of(&device_uuid)},
      {"cuDeviceGetAttribute", address_of(&device_attribute)},
      {"cuDeviceTotalMem_v2", address_of(&total_memory)},
      {"cuMemGetInfo_v2", address_of(&memory_info)},
      {"cuCtxCreate_v2", address_of(&create_context)},
      {"cuCtxDestroy_v2", address_of(&destroy_context)},
      {"cuDevicePrimaryCtxRetain", address_of(&retain_primary)},
      {"cuDevicePrimaryCtxReset_v2", address_of(&reset_primary)},
      {"cuMemAlloc_v2", address_of(&mem_alloc)},
      {"cuMemAllocManaged", address_of(&mem_alloc_managed)},
      {"cuMemAllocPitch_v2", address_of(&mem_alloc_pitch)},
      {"cuMemFree_v2", address_of(&mem_free)},
      {"cuMemAllocAsync", address_of(&mem_alloc_async)},
      {"cuMemAllocFromPoolAsync", address_of(&mem_alloc_from_pool)},
      {"cuMemFreeAsync", address_of(&mem_free_async)},
      {"cuDeviceGetMemPool", address_of(&device_pool)},
      {"cuMemPoolCreate", address_of(&pool_create)},
      {"cuMemPoolDestroy", address_of(&pool_destroy)},
      {"cuMemPoolTrimTo", address_of(&pool_trim)},
      {"cuMemPoolSetAttribute", address_of(&pool_set)},
      {"cuMemPoolGetAttribute", address_of(&pool_get)},
      {"cuMemPoolImportFromShareableHandle", address_of(&pool_import)},
      {"cuMemPoolImportPointer", address_of(&import_pointer)},
      {"cuStreamSynchronize", address_of(&synchronize)},
      {"cuMemCreate", address_of(&mem_create)},
      {"cuMemRelease", address_of(&mem_release)},
      {"cuMemMap", address_of(&mem_map)},
      {"cuMemUnmap", address_of(&mem_unmap)},
      {"cuMemRetainAllocationHandle", address_of(&mem_retain)},
      {"cuMemImportFromShareableHandle", address_of(&mem_import)},
      {"cuArrayCreate_v2", address_of(&array_create_2d)},
      {"cuArray3DCreate_v2", address_of(&array_create_3d)},
      {"cuArrayDestroy", address_of(&array_destroy<CUarray>)},
      {"cuMipmappedArrayCreate", address_of(&mipmap_create)},
      {"cuMipmappedArrayDestroy", address_of(&array_destroy<CUmipmappedArray>)},
      {"cuArrayGetMemoryRequirements", address_of(&array_requirements<CUarray>)},
      {"cuMipmappedArrayGetMemoryRequirements", address_of(&array_requirements<CUmipmappedArray>)},
      {"cuGraphGetNodes", address_of(&graph_get_nodes)},
      {"cuGraphNodeGetType", address_of(&node_type)},
      {"cuGraphMemAllocNodeGetParams", address_of(&node_params)},
      {"cuGraphInstantiateWithFlags", address_of(&instantiate)},
      {"cuGraphLaunch", address_of(&launch)},
      {"cuDeviceGetGraphMemAttribute", address_of(&graph_memory)},
      {"cuDeviceGraphMemTrim", address_of(&graph_trim)},
      {"cuIpcOpenMemHandle_v2", address_of(&ipc_open)},
      {"cuImportExternalMemory", address_of(&import_external)},
  };
  const auto found = symbols.find(symbol);
  return found != symbols.end() ? found->second : fake_symbol(context, symbol);
}

}  // namespace

FakeMemory& fake_memory() {
  return mem();
}

void reset_shim_with_memory(int devices) {
  reset_shim();
  the_memory = std::make_unique<FakeMemory>();
  the_memory->devices.resize(static_cast<size_t>(devices));
  here = 0;
  interpose::DriverTable table;
  interpose::fill_driver_table(table, &memory_symbol, nullptr, CUDA_ERROR_NOT_SUPPORTED);
  interpose::install_driver(table, &memory_symbol, nullptr);
  interpose::shim().memory.devices().forget();
}

void enter_device(int device) {
  here = device;
}

void shrink_pools() {
  for (auto& [handle, pool] : mem().pools) shrink(pool, pool.threshold);
}

CUgraph graph_with_allocation(uint64_t bytes, int device) {
  const uint64_t graph = fresh();
  const uint64_t node = fresh();
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.bytesize = bytes;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.poolProps.location.id = device;
  mem().alloc_nodes[node] = params;
  mem().graph_nodes[graph] = {node};
  return reinterpret_cast<CUgraph>(graph);
}

CUdeviceptr external_mapping() {
  const CUdeviceptr pointer = fresh();
  mem().allocations[pointer] = {Kind::kExternal, 0, here, 0, nullptr};
  return pointer;
}

}  // namespace gacer::test
