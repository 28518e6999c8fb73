// SPDX-License-Identifier: Apache-2.0
// cuMemHost*, cuMemAllocHost, cuMemAllocManaged
#include "runtime/simdevice/driver/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/faults.h"
#include "runtime/simdevice/driver/range_advice.h"

namespace gacer::simdriver {
namespace {

constexpr unsigned kHostAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kHostRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

size_t round_to_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

CUresult tell_server(const Context& context, uint64_t address, uint64_t bytes, bool managed,
                     int fd) {
  auto message = make_message<simdevice::HostMapMsg>(simdevice::SimType::kHostMap);
  message.address = address;
  message.bytes = bytes;
  message.context = context.id();
  message.charge_device_memory = managed ? 1 : 0;
  return Driver::get().link().request(message, fd).error;
}

void remember(const Context& context, uint64_t address, size_t bytes, size_t mapped,
              MemoryKind kind, unsigned flags) {
  Allocation allocation;
  allocation.base = address;
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.context_id = context.id();
  allocation.device = context.device();
  allocation.flags = flags;
  allocation.buffer_id = Driver::get().next_unique_id();
  allocation.mapped_bytes = mapped;
  Driver::get().memory.add(allocation);
}

CUresult host_alloc(void** out, size_t bytes, unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || bytes == 0 || (flags & ~kHostAllocFlags) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_during_capture());
  uint64_t address = 0;
  SIM_TRY(allocate_shared(*context, bytes, MemoryKind::kPinned, flags, address));
  *out = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

CUresult register_host(void* pointer, size_t bytes, unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (pointer == nullptr || bytes == 0 ||
      (flags & ~(kHostRegisterFlags | CU_MEMHOSTREGISTER_IOMEMORY)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (Driver::get().memory.in_device_range(address)) return CUDA_ERROR_INVALID_VALUE;
  if (Driver::get().memory.overlaps(address, bytes))
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  SIM_TRY(tell_server(*context, address, bytes, false, -1));
  remember(*context, address, bytes, 0, MemoryKind::kRegistered, flags);
  return CUDA_SUCCESS;
}

std::optional<Allocation> host_allocation(const void* pointer) {
  auto allocation = Driver::get().memory.find(reinterpret_cast<uint64_t>(pointer));
  if (allocation && allocation->on_device()) allocation.reset();
  return allocation;
}

}  // namespace

UniqueFd make_shared_memory(const char* name, uint64_t bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    return {};
  return fd;
}

CUresult allocate_shared(const Context& context, size_t bytes, MemoryKind kind, unsigned flags,
                         uint64_t& address) {
  const size_t mapped = round_to_pages(bytes);
  if (mapped < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const UniqueFd fd =
      make_shared_memory(kind == MemoryKind::kManaged ? "simgpu-managed" : "simgpu-pinned", mapped);
  if (!fd.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  address = reinterpret_cast<uint64_t>(memory);
  const CUresult told =
      tell_server(context, address, mapped, kind == MemoryKind::kManaged, fd.get());
  if (told != CUDA_SUCCESS) {
    munmap(memory, mapped);
    return told;
  }
  remember(context, address, bytes, mapped, kind, flags);
  return CUDA_SUCCESS;
}

CUresult release_host(const Allocation& allocation) {
  auto message = make_message<simdevice::HostMapMsg>(simdevice::SimType::kHostUnmap);
  message.address = allocation.base;
  message.bytes = allocation.bytes;
  message.context = allocation.context_id;
  const CUresult told = Driver::get().link().request(message).error;
  if (allocation.kind == MemoryKind::kManaged)
    range_advice().change(allocation.base, allocation.base + allocation.mapped_bytes,
                          [](PageAdvice& page) { page = {}; });
  if (allocation.mapped_bytes > 0)
    munmap(reinterpret_cast<void*>(allocation.base), allocation.mapped_bytes);
  return told;
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return host_alloc(out, bytes, flags);
}
CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return host_alloc(out, bytes, 0);
}

CUresult cuMemFreeHost(void* pointer) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto allocation = host_allocation(pointer);
  if (!allocation || allocation->base != address || allocation->kind != MemoryKind::kPinned)
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_during_capture());
  SIM_TRY(context->synchronize());
  Driver::get().memory.remove(address);
  return release_host(*allocation);
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return register_host(pointer, bytes, flags);
}
CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return register_host(pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void* pointer) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const auto allocation = host_allocation(pointer);
  if (!allocation || allocation->kind != MemoryKind::kRegistered ||
      allocation->base != reinterpret_cast<uint64_t>(pointer))
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  SIM_TRY(context->synchronize());
  Driver::get().memory.remove(allocation->base);
  return release_host(*allocation);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || flags != 0 || !host_allocation(pointer)) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned* out, void* pointer) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const auto allocation = host_allocation(pointer);
  if (out == nullptr || !allocation || allocation->kind != MemoryKind::kPinned)
    return CUDA_ERROR_INVALID_VALUE;
  *out = allocation->flags | CU_MEMHOSTALLOC_DEVICEMAP;  // unified addressing maps all of it
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_during_capture());
  if (allocation_must_fail()) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t address = 0;
  SIM_TRY(allocate_shared(*context, bytes, MemoryKind::kManaged, flags, address));
  *out = address;
  return CUDA_SUCCESS;
}
