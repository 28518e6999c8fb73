// SPDX-License-Identifier: Apache-2.0
// The model's memory.
#include "tests/property/model/call.h"

namespace gacer::property {
namespace {

constexpr uint64_t kDeviceBase = 0x7000'0000'0000;
constexpr uint64_t kReserveBase = 0x7800'0000'0000;
constexpr uint64_t kPoolBase = 0xa00'0000;
constexpr uint64_t kPhysicalBase = 0xb00'0000;
constexpr uint64_t kDefaultPool = 0xaff'ff00;
constexpr uint64_t kGranularity = 4096;
constexpr size_t kPitch = 64;

bool fits(const Call& c, uint64_t bytes) {
  return bytes <= Model::kDeviceBytes - c.s.used_bytes;
}

CUresult allocate(Call& c, CUdeviceptr* pointer, uint64_t bytes, bool async) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!fits(c, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t address = kDeviceBase;
  while (c.s.memory.count(address) != 0) address += Model::kDeviceBytes;
  Allocation& made = c.s.memory[address];
  made.context = c.context();
  made.bytes.resize(bytes);
  made.async = async;
  c.s.used_bytes += bytes;
  *pointer = address;
  return CUDA_SUCCESS;
}

CUresult allocate_now(Call& c, CUdeviceptr* pointer, uint64_t bytes) {
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  return allocate(c, pointer, bytes, false);
}

CUresult allocate_async(Call& c, CUdeviceptr* pointer, uint64_t bytes, CUstream where) {
  CUresult error = CUDA_SUCCESS;
  const Stream* stream = c.stream(where, error);
  if (stream == nullptr) return error;
  if (stream->capture != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return allocate(c, pointer, bytes, true);
}

Work copy(uint64_t to, uint64_t from, uint64_t bytes) {
  Work work;
  work.kind = Work::Kind::kCopy;
  work.to = to;
  work.from = from;
  work.bytes = bytes;
  return work;
}

Work set(uint64_t to, uint64_t value, uint64_t count, uint32_t element) {
  Work work;
  work.kind = Work::Kind::kSet;
  work.to = to;
  work.value = value;
  work.bytes = count * element;
  work.element = element;
  return work;
}

}  // namespace

namespace implementation {

CUresult mem_alloc(Call& c, CUdeviceptr* pointer, size_t bytes) {
  return allocate_now(c, pointer, bytes);
}

CUresult mem_alloc_pitch(Call& c, CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                         unsigned element) {
  if (pitch == nullptr || (element != 4 && element != 8 && element != 16))
    return CUDA_ERROR_INVALID_VALUE;
  const size_t row = (width + kPitch - 1) / kPitch * kPitch;
  const CUresult result = allocate_now(c, pointer, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult mem_alloc_managed(Call& c, CUdeviceptr* pointer, size_t bytes, unsigned flags) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  return allocate_now(c, pointer, bytes);
}

// Waits, as the driver does, for work that may still use the memory.
CUresult mem_free(Call& c, CUdeviceptr pointer) {
  if (pointer == 0) return CUDA_SUCCESS;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  const auto found = c.s.memory.find(pointer);
  if (found == c.s.memory.end() || found->second.mapped) return CUDA_ERROR_INVALID_VALUE;
  c.wait_for_context(found->second.context);
  // The wait may have run a free of the same memory in stream order.
  const auto still = c.s.memory.find(pointer);
  if (still == c.s.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  c.s.used_bytes -= still->second.bytes.size();
  c.s.memory.erase(still);
  return CUDA_SUCCESS;
}

CUresult mem_info(Call& c, size_t* free_bytes, size_t* total_bytes) {
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (free_bytes != nullptr) *free_bytes = Model::kDeviceBytes - c.s.used_bytes;
  if (total_bytes != nullptr) *total_bytes = Model::kDeviceBytes;
  return CUDA_SUCCESS;
}

CUresult mem_alloc_async(Call& c, CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  return allocate_async(c, pointer, bytes, stream);
}

CUresult mem_alloc_from_pool(Call& c, CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool,
                             CUstream stream) {
  if (number(pool) != kDefaultPool && c.s.pools.count(number(pool)) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  return allocate_async(c, pointer, bytes, stream);
}

CUresult mem_free_async(Call& c, CUdeviceptr pointer, CUstream where) {
  CUresult error = CUDA_SUCCESS;
  const Stream* stream = c.stream(where, error);
  if (stream == nullptr) return error;
  if (stream->capture != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const auto found = c.s.memory.find(pointer);
  if (found == c.s.memory.end() || found->second.mapped || found->second.freed)
    return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.kind = Work::Kind::kFree;
  work.to = pointer;
  error = c.submit(where, work);
  if (error == CUDA_SUCCESS) found->second.freed = true;
  return error;
}

CUresult pool_create(Call& c, CUmemoryPool* pool, const CUmemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t handle = lowest_free(c.s.pools, kPoolBase);
  c.s.pools[handle] = c.context();
  answer(pool, handle);
  return CUDA_SUCCESS;
}

CUresult pool_destroy(Call& c, CUmemoryPool pool) {
  return c.s.pools.erase(number(pool)) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult default_pool(Call&, CUmemoryPool* pool, CUdevice device) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  answer(pool, kDefaultPool);
  return CUDA_SUCCESS;
}

CUresult vmm_create(Call& c, CUmemGenericAllocationHandle* handle, size_t bytes,
                    const CUmemAllocationProp* properties, unsigned long long flags) {
  if (handle == nullptr || properties == nullptr || flags != 0 || bytes == 0 ||
      bytes % kGranularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (on_device && !fits(c, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = lowest_free(c.s.physical, kPhysicalBase);
  c.s.physical[*handle] = {bytes, on_device, 0, false};
  if (on_device) c.s.used_bytes += bytes;
  return CUDA_SUCCESS;
}

CUresult vmm_release(Call& c, CUmemGenericAllocationHandle handle) {
  const auto found = c.s.physical.find(handle);
  if (found == c.s.physical.end() || found->second.released) return CUDA_ERROR_INVALID_VALUE;
  found->second.released = true;
  if (found->second.maps != 0) return CUDA_SUCCESS;
  if (found->second.on_device) c.s.used_bytes -= found->second.bytes;
  c.s.physical.erase(found);
  return CUDA_SUCCESS;
}

CUresult vmm_reserve(Call& c, CUdeviceptr* pointer, size_t bytes, size_t, CUdeviceptr,
                     unsigned long long flags) {
  if (pointer == nullptr || flags != 0 || bytes == 0 || bytes % kGranularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t address = kReserveBase;
  while (c.s.reservations.count(address) != 0) address += Model::kDeviceBytes;
  c.s.reservations[address] = bytes;
  *pointer = address;
  return CUDA_SUCCESS;
}

CUresult vmm_address_free(Call& c, CUdeviceptr pointer, size_t bytes) {
  const auto found = c.s.reservations.find(pointer);
  if (found == c.s.reservations.end() || found->second != bytes || c.s.memory.count(pointer) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  c.s.reservations.erase(found);
  return CUDA_SUCCESS;
}

CUresult vmm_map(Call& c, CUdeviceptr pointer, size_t bytes, size_t offset,
                 CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const auto range = c.s.reservations.find(pointer);
  const auto found = c.s.physical.find(handle);
  const bool known = range != c.s.reservations.end() && found != c.s.physical.end();
  if (!known || offset != 0 || flags != 0 || bytes > range->second ||
      bytes != found->second.bytes || found->second.released || found->second.maps != 0 ||
      c.s.memory.count(pointer) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  ++found->second.maps;
  Allocation& made = c.s.memory[pointer];
  made.bytes.resize(bytes);
  made.mapped = true;
  made.physical = handle;
  return CUDA_SUCCESS;
}

CUresult vmm_unmap(Call& c, CUdeviceptr pointer, size_t bytes) {
  const auto found = c.s.memory.find(pointer);
  if (found == c.s.memory.end() || !found->second.mapped || found->second.bytes.size() != bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  while (c.model.step()) {
  }
  const auto physical = c.s.physical.find(found->second.physical);
  c.s.memory.erase(found);
  if (--physical->second.maps != 0 || !physical->second.released) return CUDA_SUCCESS;
  if (physical->second.on_device) c.s.used_bytes -= physical->second.bytes;
  c.s.physical.erase(physical);
  return CUDA_SUCCESS;
}

CUresult host_register(Call& c, void* host, size_t bytes, unsigned) {
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  if (!c.program) return c.model.faults.no_register ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
  if (host == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool fresh = c.s.registered.insert(reinterpret_cast<uint64_t>(host)).second;
  return fresh ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult host_unregister(Call& c, void* host) {
  if (!c.program) return CUDA_SUCCESS;
  const bool known = c.s.registered.erase(reinterpret_cast<uint64_t>(host)) != 0;
  return known ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult host_device_pointer(Call& c, CUdeviceptr* pointer, void* host, unsigned) {
  const auto address = reinterpret_cast<uint64_t>(host);
  if (pointer == nullptr || (c.program && c.s.registered.count(address) == 0))
    return CUDA_ERROR_INVALID_VALUE;
  *pointer = address;
  return CUDA_SUCCESS;
}

CUresult copy_to_device(Call& c, CUdeviceptr to, const void* from, size_t bytes) {
  return c.submit_and_wait(copy(to, reinterpret_cast<uint64_t>(from), bytes));
}
CUresult copy_to_host(Call& c, void* to, CUdeviceptr from, size_t bytes) {
  return c.submit_and_wait(copy(reinterpret_cast<uint64_t>(to), from, bytes));
}
CUresult copy_any(Call& c, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return c.submit_and_wait(copy(to, from, bytes));
}
CUresult copy_any_async(Call& c, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return c.submit(stream, copy(to, from, bytes));
}
CUresult copy_to_device_async(Call& c, CUdeviceptr to, const void* from, size_t bytes,
                              CUstream stream) {
  return c.submit(stream, copy(to, reinterpret_cast<uint64_t>(from), bytes));
}
CUresult copy_to_host_async(Call& c, void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return c.submit(stream, copy(reinterpret_cast<uint64_t>(to), from, bytes));
}

CUresult copy_2d_async(Call& c, const CUDA_MEMCPY2D* what, CUstream stream) {
  if (what == nullptr || what->srcMemoryType != CU_MEMORYTYPE_DEVICE ||
      what->dstMemoryType != CU_MEMORYTYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  Work work = copy(what->dstDevice, what->srcDevice, what->WidthInBytes);
  work.rows = what->Height;
  work.to_pitch = what->dstPitch;
  work.from_pitch = what->srcPitch;
  return c.submit(stream, work);
}

CUresult set_8(Call& c, CUdeviceptr to, unsigned char value, size_t count) {
  return c.submit_and_wait(set(to, value, count, 1));
}
CUresult set_8_async(Call& c, CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return c.submit(stream, set(to, value, count, 1));
}
CUresult set_16_async(Call& c, CUdeviceptr to, unsigned short value, size_t count,
                      CUstream stream) {
  return c.submit(stream, set(to, value, count, 2));
}
CUresult set_32_async(Call& c, CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return c.submit(stream, set(to, value, count, 4));
}
CUresult set_2d_async(Call& c, CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                      size_t height, CUstream stream) {
  Work work = set(to, value, width, 1);
  work.rows = height;
  work.to_pitch = pitch;
  return c.submit(stream, work);
}

}  // namespace implementation
}  // namespace gacer::property
