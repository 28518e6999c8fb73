// SPDX-License-Identifier: Apache-2.0
// cuMemAddress*, cuMemCreate, cuMemMap and their kin
#include "runtime/simdevice/driver/virtual_memory.h"

#include <unistd.h>

#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"

using namespace gacer::simdriver;

namespace {

constexpr uint64_t kGranularity = gacer::simdevice::kPhysicalGranularity;
constexpr unsigned short kKnownUsage = CU_MEM_CREATE_USAGE_TILE_POOL;

bool is_power_of_two(size_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

CUresult check_location(const CUmemAllocationProp& prop) {
  switch (prop.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return check_device(prop.location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
      // Not for other processes.
      return prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return prop.location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check_properties(const CUmemAllocationProp* prop) {
  if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      prop->win32HandleMetaData != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_location(*prop));
  if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
      prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_NOT_SUPPORTED;
  const bool special =
      prop->allocFlags.gpuDirectRDMACapable != 0 || (prop->allocFlags.usage & ~kKnownUsage) != 0;
  return special ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

bool is_granular(uint64_t value) {
  return value % kGranularity == 0;
}

CUresult check_access(const CUmemAccessDesc& wanted) {
  if (wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
      wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
      wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return CUDA_ERROR_INVALID_VALUE;
  switch (wanted.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return check_device(wanted.location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  SIM_TRY(Driver::get().ready());
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (out == nullptr || bytes == 0 || flags != 0 || bytes % page != 0 || hint % page != 0 ||
      (alignment != 0 && !is_power_of_two(alignment)))
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t address = 0;
  SIM_TRY(
      virtual_memory().reserve(bytes, std::max<size_t>(alignment, kGranularity), hint, address));
  *out = address;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  SIM_TRY(Driver::get().ready());
  return virtual_memory().release_address(address, bytes);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || flags != 0 || bytes == 0 || !is_granular(bytes))
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_properties(prop));
  CUmemAllocationProp kept = *prop;
  kept.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;  // a hint that is not taken
  return virtual_memory().create(bytes, kept, *out);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  SIM_TRY(Driver::get().ready());
  return virtual_memory().release(handle);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().retain(reinterpret_cast<uint64_t>(address), *out);
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  SIM_TRY(Driver::get().ready());
  // "Note: currently must be zero", says the documentation of the offset.
  if (bytes == 0 || offset != 0 || flags != 0 || !is_granular(address) || !is_granular(bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().map(address, bytes, handle);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  SIM_TRY(Driver::get().ready());
  return virtual_memory().unmap(address, bytes);
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* list,
                        size_t count) {
  SIM_TRY(Driver::get().ready());
  if (bytes == 0 || list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) SIM_TRY(check_access(list[i]));
  for (size_t i = 0; i < count; ++i) SIM_TRY(virtual_memory().set_access(address, bytes, list[i]));
  return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long* out, const CUmemLocation* location,
                        CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_access({*location, CU_MEM_ACCESS_FLAGS_PROT_NONE}));
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  SIM_TRY(virtual_memory().get_access(address, *location, flags));
  *out = flags;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* out, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_properties(prop));
  *out = kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out,
                                                CUmemGenericAllocationHandle handle) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().properties(handle, *out);
}

CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  return virtual_memory().export_fd(handle, *static_cast<int*>(out));
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* shareable,
                                        CUmemAllocationHandleType type) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  return virtual_memory().import_fd(static_cast<int>(reinterpret_cast<intptr_t>(shareable)), *out);
}
