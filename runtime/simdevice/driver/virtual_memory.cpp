// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/faults.h"
#include "runtime/simdevice/driver/host_memory.h"

namespace gacer::simdriver {
namespace {

using simdevice::PhysicalMsg;
using simdevice::SimType;

constexpr int kReserveFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);
}

// Keeps host memory of the program out of a reservation. False: something is there.
bool block_addresses(uint64_t address, uint64_t bytes) {
  return mmap(pointer(address), bytes, PROT_NONE, kReserveFlags | MAP_FIXED_NOREPLACE, -1, 0) !=
         MAP_FAILED;
}

// Takes away what a mapping had let the host see.
CUresult hide_from_host(uint64_t address, uint64_t bytes) {
  void* hidden = mmap(pointer(address), bytes, PROT_NONE, kReserveFlags | MAP_FIXED, -1, 0);
  return hidden == MAP_FAILED ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

PhysicalMsg make_physical(SimType type, uint64_t address = 0, uint64_t bytes = 0) {
  auto message = make_message<PhysicalMsg>(type);
  message.address = address;
  message.bytes = bytes;
  return message;
}

Reply ask(const PhysicalMsg& message, int fd = -1) {
  return Driver::get().link().request(message, fd);
}

void remember(uint64_t address, const VirtualMapping& mapping) {
  Allocation allocation;
  allocation.base = address;
  allocation.bytes = mapping.bytes;
  allocation.kind = mapping.memory->on_host() ? MemoryKind::kMappedHost : MemoryKind::kMapped;
  allocation.context_id = kNoContext;
  if (!mapping.memory->on_host()) allocation.device = mapping.memory->properties.location.id;
  allocation.buffer_id = Driver::get().next_unique_id();
  allocation.handle_types = mapping.memory->properties.requestedHandleTypes;
  allocation.accessible = false;
  Driver::get().memory.add(allocation);
}

void set_accessible(uint64_t address, bool accessible) {
  auto allocation = Driver::get().memory.find(address);
  if (!allocation) return;
  allocation->accessible = accessible;
  Driver::get().memory.add(*allocation);
}

bool any_access(const VirtualMapping& mapping) {
  return mapping.host_access != CU_MEM_ACCESS_FLAGS_PROT_NONE ||
         std::any_of(mapping.access.begin(), mapping.access.end(), [](const auto& entry) {
           return entry.second != CU_MEM_ACCESS_FLAGS_PROT_NONE;
         });
}

bool is_host(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

}  // namespace

VirtualMemory& virtual_memory() {
  static VirtualMemory& memory = *new VirtualMemory;
  return memory;
}

VirtualMemory::VirtualMemory() : ranges_(simdevice::kVirtualBase, simdevice::kVirtualEnd) {}

CUresult VirtualMemory::reserve(uint64_t bytes, uint64_t alignment, uint64_t hint,
                                uint64_t& address) {
  const std::lock_guard lock(mutex_);
  const auto place = ranges_.reserve(bytes, alignment, hint);
  if (!place) return CUDA_ERROR_OUT_OF_MEMORY;
  // Something is there already (a sanitizer's shadow): then no host pointer can get there either.
  block_addresses(*place, bytes);
  address = *place;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::release_address(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && next->first - address < bytes) return CUDA_ERROR_INVALID_VALUE;
  if (!ranges_.release(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  munmap(pointer(address), bytes);
  return CUDA_SUCCESS;
}

std::optional<AddressRanges::Range> VirtualMemory::reservation(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  return ranges_.find(address);
}

std::shared_ptr<PhysicalMemory> VirtualMemory::find(CUmemGenericAllocationHandle handle) const {
  const auto found = handles_.find(handle);
  return found == handles_.end() || found->second->references == 0 ? nullptr : found->second;
}

CUmemGenericAllocationHandle VirtualMemory::add(std::shared_ptr<PhysicalMemory> memory) {
  const CUmemGenericAllocationHandle handle = next_handle_++;
  handles_[handle] = std::move(memory);
  return handle;
}

CUresult VirtualMemory::create(uint64_t bytes, const CUmemAllocationProp& properties,
                               CUmemGenericAllocationHandle& handle) {
  if (allocation_must_fail()) return CUDA_ERROR_OUT_OF_MEMORY;
  auto memory = std::make_shared<PhysicalMemory>();
  memory->bytes = bytes;
  memory->properties = properties;
  PhysicalMsg message = make_physical(SimType::kPhysicalCreate, 0, bytes);
  message.location = simdevice::kHostLocation;
  if (memory->on_host()) {
    memory->fd = make_shared_memory("simgpu-host", bytes);
    if (!memory->fd.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
  } else {
    message.location = Driver::get().index_of(properties.location.id);
  }
  const Reply reply = ask(message, memory->fd.get());
  SIM_TRY(reply.error);
  memory->server_handle = reply.value;
  const std::lock_guard lock(mutex_);
  handle = add(std::move(memory));
  return CUDA_SUCCESS;
}

// The server keeps the handle while something is mapped: cuMemRetainAllocationHandle finds it
// again.
void VirtualMemory::forget_if_unused(CUmemGenericAllocationHandle handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return;
  const PhysicalMemory& memory = *found->second;
  if (memory.references > 0 || memory.mappings > 0) return;
  PhysicalMsg message = make_physical(SimType::kPhysicalRelease);
  message.handle = memory.server_handle;
  ask(message);
  handles_.erase(found);
}

CUresult VirtualMemory::release(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto memory = find(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  --memory->references;
  forget_if_unused(handle);
  return CUDA_SUCCESS;
}

VirtualMemory::Mappings::const_iterator VirtualMemory::mapping_at(uint64_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : mappings_.end();
}

CUresult VirtualMemory::retain(uint64_t address, CUmemGenericAllocationHandle& handle) {
  const std::lock_guard lock(mutex_);
  const auto found = mapping_at(address);
  if (found == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  ++found->second.memory->references;
  handle = found->second.handle;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::properties(CUmemGenericAllocationHandle handle,
                                   CUmemAllocationProp& out) const {
  const std::lock_guard lock(mutex_);
  const auto memory = find(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = memory->properties;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::export_fd(CUmemGenericAllocationHandle handle, int& fd) const {
  const std::lock_guard lock(mutex_);
  const auto memory = find(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Only what was made for it.
  if (memory->properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  PhysicalMsg message = make_physical(SimType::kPhysicalExport);
  message.handle = memory->server_handle;
  Reply reply = ask(message);
  SIM_TRY(reply.error);
  if (!reply.fd.valid()) return CUDA_ERROR_OPERATING_SYSTEM;
  fd = reply.fd.release();
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::import_fd(int fd, CUmemGenericAllocationHandle& handle) {
  if (fcntl(fd, F_GETFD) < 0) return CUDA_ERROR_INVALID_VALUE;
  Reply reply = ask(make_physical(SimType::kPhysicalImport), fd);
  SIM_TRY(reply.error);
  auto memory = std::make_shared<PhysicalMemory>();
  memory->server_handle = reply.value;
  memory->bytes = reply.value2;
  memory->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory->properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const auto device = Driver::get().ordinal_of(reply.detail);
  const bool on_host = reply.detail == simdevice::kHostLocation;
  const std::lock_guard lock(mutex_);
  if (on_host) {
    memory->properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    memory->fd = std::move(reply.fd);
  } else {
    memory->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.value_or(0)};
  }
  handle = add(memory);
  if (on_host || device) return CUDA_SUCCESS;
  memory->references = 0;  // on a device that this process does not see
  forget_if_unused(handle);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult VirtualMemory::map(uint64_t address, uint64_t bytes, CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto memory = find(handle);
  if (memory == nullptr || bytes > memory->bytes || !ranges_.holds(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  PhysicalMsg message = make_physical(SimType::kPhysicalMap, address, bytes);
  message.handle = memory->server_handle;
  SIM_TRY(ask(message).error);  // overlaps are refused there
  ++memory->mappings;
  VirtualMapping& mapping = mappings_[address];
  mapping.bytes = bytes;
  mapping.memory = memory;
  mapping.handle = handle;
  remember(address, mapping);
  return CUDA_SUCCESS;
}

std::vector<VirtualMemory::Mappings::iterator> VirtualMemory::exact(uint64_t address,
                                                                    uint64_t bytes) {
  std::vector<Mappings::iterator> parts;
  uint64_t next = address;
  for (auto it = mappings_.find(address); it != mappings_.end() && it->first == next; ++it) {
    parts.push_back(it);
    next += it->second.bytes;
    if (next - address == bytes) return parts;
    if (next - address > bytes) break;
  }
  return {};
}

CUresult VirtualMemory::unmap(uint64_t address, uint64_t bytes) {
  SIM_TRY(synchronize_all_contexts());
  const std::lock_guard lock(mutex_);
  const auto parts = exact(address, bytes);
  if (parts.empty()) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(ask(make_physical(SimType::kPhysicalUnmap, address, bytes)).error);
  for (const auto& part : parts) {
    const VirtualMapping mapping = std::move(part->second);
    if (mapping.host_access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
      SIM_TRY(hide_from_host(part->first, mapping.bytes));
    Driver::get().memory.remove(part->first);
    mappings_.erase(part);
    --mapping.memory->mappings;
    forget_if_unused(mapping.handle);
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_host_access(uint64_t address, VirtualMapping& mapping,
                                        CUmemAccess_flags flags) {
  if (!mapping.memory->on_host()) return CUDA_ERROR_INVALID_VALUE;
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
    SIM_TRY(hide_from_host(address, mapping.bytes));
  } else {
    const int protection =
        flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : PROT_READ | PROT_WRITE;
    if (mmap(pointer(address), mapping.bytes, protection, MAP_SHARED | MAP_FIXED,
             mapping.memory->fd.get(), 0) == MAP_FAILED)
      return CUDA_ERROR_OPERATING_SYSTEM;
  }
  mapping.host_access = flags;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_device_access(uint64_t address, VirtualMapping& mapping,
                                          CUdevice device, CUmemAccess_flags flags) {
  PhysicalMsg message = make_physical(SimType::kPhysicalAccess, address, mapping.bytes);
  message.location = Driver::get().index_of(device);
  message.access = flags;
  SIM_TRY(ask(message).error);
  mapping.access[device] = flags;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_access(uint64_t address, uint64_t bytes,
                                   const CUmemAccessDesc& wanted) {
  const std::lock_guard lock(mutex_);
  const auto parts = exact(address, bytes);
  if (parts.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& part : parts) {
    const CUresult set =
        is_host(wanted.location)
            ? set_host_access(part->first, part->second, wanted.flags)
            : set_device_access(part->first, part->second, wanted.location.id, wanted.flags);
    SIM_TRY(set);
    set_accessible(part->first, any_access(part->second));
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::get_access(uint64_t address, const CUmemLocation& location,
                                   CUmemAccess_flags& flags) const {
  const std::lock_guard lock(mutex_);
  const auto found = mapping_at(address);
  if (found == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (is_host(location)) {
    flags = found->second.host_access;
  } else if (const auto entry = found->second.access.find(location.id);
             entry != found->second.access.end()) {
    flags = entry->second;
  }
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
