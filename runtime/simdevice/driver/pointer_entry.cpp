// SPDX-License-Identifier: Apache-2.0
// cuPointerGetAttribute(s), cuPointerSetAttribute
#include <cstring>
#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/mem_pool.h"
#include "runtime/simdevice/driver/virtual_memory.h"

using namespace gacer::simdriver;

namespace {

template <typename T>
CUresult put(void* out, T value) {
  *static_cast<T*>(out) = value;
  return CUDA_SUCCESS;
}

// NULL for memory of no context: of pools, graphs and mappings.
CUcontext context_of(const Allocation& allocation) {
  CUcontext found = nullptr;
  if (allocation.pool != 0) return found;
  Driver::get().contexts.for_each([&](Context& context) {
    if (!context.green() && context.id() == allocation.context_id)
      found = HandleTable<CUcontext, Context>::to_handle(&context);
  });
  return found;
}

CUmemoryPool pool_of(const Allocation& allocation) {
  CUmemoryPool found = nullptr;
  if (allocation.pool == 0) return found;
  pools().for_each([&](Pool& pool) {
    if (pool.server_pool == allocation.pool)
      found = HandleTable<CUmemoryPool, Pool>::to_handle(&pool);
  });
  return found;
}

CUresult put_host_pointer(const Allocation& memory, uint64_t address, void* out) {
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (memory.kind == MemoryKind::kMappedHost)
    SIM_TRY(virtual_memory().get_access(address, {CU_MEM_LOCATION_TYPE_HOST, 0}, flags));
  const bool reachable = memory.kind == MemoryKind::kMappedHost
                             ? flags != CU_MEM_ACCESS_FLAGS_PROT_NONE
                             : !memory.on_device();
  return reachable ? put(out, reinterpret_cast<void*>(address)) : CUDA_ERROR_INVALID_VALUE;
}

// Of the allocation, or of the reservation that a mapping lies in.
AddressRanges::Range range_of(const Allocation& memory) {
  const AddressRanges::Range whole{memory.base, memory.bytes};
  return memory.mapped() ? virtual_memory().reservation(memory.base).value_or(whole) : whole;
}

CUresult read_attribute(const Allocation& memory, uint64_t address, CUpointer_attribute attribute,
                        void* out) {
  const bool device = memory.on_device() || memory.kind == MemoryKind::kManaged;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(out, context_of(memory));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(out, static_cast<unsigned>(device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(out, static_cast<CUdeviceptr>(address));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put_host_pointer(memory, address, out);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(out, memory.sync_memops ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(out, static_cast<unsigned long long>(memory.buffer_id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(out, memory.kind == MemoryKind::kManaged ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(out, memory.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(out, memory.kind == MemoryKind::kDevice && memory.pool == 0 ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(out, static_cast<CUdeviceptr>(range_of(memory).address));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(out, static_cast<size_t>(range_of(memory).bytes));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(out, 1U);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(out, memory.handle_types);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(out, 0U);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(out, static_cast<unsigned>(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(out, pool_of(memory));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(out, static_cast<size_t>(memory.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(out, static_cast<CUdeviceptr>(memory.base));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put(out, static_cast<unsigned long long>(memory.buffer_id));
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// Addresses that are reserved and not mapped have a range and nothing else.
CUresult read_reserved(const AddressRanges::Range& range, CUpointer_attribute attribute,
                       void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(out, static_cast<CUdeviceptr>(range.address));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(out, static_cast<size_t>(range.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(out, 0U);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult read_any(uint64_t address, CUpointer_attribute attribute, void* out) {
  if (const auto memory = Driver::get().memory.find(address))
    return read_attribute(*memory, address, attribute, out);
  if (const auto range = virtual_memory().reservation(address))
    return read_reserved(*range, attribute, out);
  return CUDA_ERROR_INVALID_VALUE;
}

size_t attribute_bytes(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return sizeof(unsigned);
    default:
      return sizeof(uint64_t);
  }
}

}  // namespace

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : read_any(address, attribute, out);
}

// Unlike the single form, this one answers zeros for a pointer that the driver does not know.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  if (attributes == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool known = Driver::get().memory.find(address).has_value();
  for (unsigned i = 0; i < count; ++i) {
    if (out[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    memset(out[i], 0, attribute_bytes(attributes[i]));
    read_any(address, attributes[i], out[i]);
    if (!known && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) put(out[i], -2);
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  auto memory = Driver::get().memory.find(address);
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !memory)
    return CUDA_ERROR_INVALID_VALUE;
  memory->sync_memops = *static_cast<const unsigned*>(value) != 0;  // kept: all copies are ordered
  Driver::get().memory.add(*memory);
  return CUDA_SUCCESS;
}
