// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/client_memory.h"

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {
namespace {

// The entry of an address-ordered map that holds [address, address + bytes).
template <typename Map>
auto holder(const Map& map, uint64_t address, uint64_t bytes) {
  auto entry = map.upper_bound(address);
  if (entry == map.begin()) return map.end();
  --entry;
  const uint64_t inside = address - entry->first;
  return inside <= entry->second.bytes && bytes <= entry->second.bytes - inside ? entry : map.end();
}

// Without the seal the client could shrink the file under the mapping and end the server with
// SIGBUS.
bool fd_holds(int fd, uint64_t bytes) {
  struct stat info {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(fd, &info) == 0 &&
         info.st_size >= 0 && static_cast<uint64_t>(info.st_size) >= bytes;
}

constexpr uint64_t kMostBytesPerCall = 1ULL << 30;  // the kernel moves less than 2 GiB a call

using ForeignCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                unsigned long);

bool foreign(ForeignCall call, pid_t pid, uint8_t* local, uint64_t address, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min(bytes - done, kMostBytesPerCall);
    const iovec here{local + done, part};
    const iovec there{reinterpret_cast<void*>(address + done), part};
    const ssize_t moved = call(pid, &here, 1, &there, 1, 0);
    if (moved <= 0) return false;
    done += static_cast<uint64_t>(moved);
  }
  return true;
}

}  // namespace

ClientMemory::~ClientMemory() {
  for (const auto& [address, allocation] : allocations_) device_.free(address, allocation.bytes);
  for (auto& [address, mapping] : host_) release(mapping);
  device_.refund(context_charges_);
}

void ClientMemory::remove_context_charge(uint64_t bytes) {
  device_.refund(bytes);
  context_charges_ -= bytes;
}

std::optional<uint64_t> ClientMemory::allocate(uint32_t context, uint64_t bytes) {
  const auto address = device_.allocate(bytes);
  if (!address) return std::nullopt;
  allocations_[*address] = {DeviceMemory::rounded(bytes), context};
  spaces_.clear();
  return address;
}

bool ClientMemory::free(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  device_.free(address, found->second.bytes);
  allocations_.erase(found);
  spaces_.clear();
  return true;
}

void ClientMemory::free_context(uint32_t context) {
  std::erase_if(allocations_, [&](const auto& entry) {
    if (entry.second.context != context) return false;
    device_.free(entry.first, entry.second.bytes);
    return true;
  });
  spaces_.clear();
}

bool ClientMemory::overlaps_host(uint64_t address, uint64_t bytes) const {
  const auto after = host_.lower_bound(address);
  if (after != host_.end() && after->first - address < bytes) return true;
  if (after == host_.begin()) return false;
  const auto before = std::prev(after);
  return address - before->first < before->second.bytes;
}

bool ClientMemory::is_device_address(uint64_t address, const DeviceMemory& device) {
  return address >= kDeviceBase && address - kDeviceBase < device.total_bytes();
}

Status ClientMemory::map_host(uint64_t address, uint64_t bytes, bool charge, UniqueFd fd) {
  const uint64_t end = address + bytes;
  const bool windows = address < kLocalWindow + (1ULL << 32) && end > kSharedWindow;
  const bool device = address < kDeviceBase + device_.total_bytes() && end > kDeviceBase;
  if (address == 0 || bytes == 0 || end < address || windows || device ||
      overlaps_host(address, bytes))
    return Error{CUDA_ERROR_INVALID_VALUE, "host mapping is empty or overlaps another one"};
  HostMapping mapping{bytes, nullptr, charge ? bytes : 0};
  if (charge && !device_.charge(bytes))
    return Error{CUDA_ERROR_OUT_OF_MEMORY, "managed memory does not fit on the device"};
  if (fd.valid()) {
    void* host = fd_holds(fd.get(), bytes)
                     ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)
                     : MAP_FAILED;
    if (host == MAP_FAILED) {
      release(mapping);
      return Error{CUDA_ERROR_INVALID_VALUE,
                   "host memory descriptor is too small or lacks F_SEAL_SHRINK"};
    }
    mapping.host = static_cast<uint8_t*>(host);
  }
  host_[address] = mapping;
  spaces_.clear();
  return {};
}

void ClientMemory::release(HostMapping& mapping) {
  if (mapping.host != nullptr) ::munmap(mapping.host, mapping.bytes);
  device_.refund(mapping.charged);
}

bool ClientMemory::unmap_host(uint64_t address) {
  const auto found = host_.find(address);
  if (found == host_.end()) return false;
  release(found->second);
  host_.erase(found);
  spaces_.clear();
  return true;
}

void ClientMemory::rebuild(uint32_t context, AddressSpace& space) const {
  std::vector<MemoryRegion> regions;
  regions.reserve(allocations_.size() + host_.size());
  for (const auto& [address, allocation] : allocations_)
    if (allocation.context == context)
      regions.push_back({address, allocation.bytes, device_.host(address)});
  for (const auto& [address, mapping] : host_)
    if (mapping.host != nullptr) regions.push_back({address, mapping.bytes, mapping.host});
  std::sort(regions.begin(), regions.end(),
            [](const MemoryRegion& a, const MemoryRegion& b) { return a.base < b.base; });
  space = AddressSpace(std::move(regions));
}

const AddressSpace& ClientMemory::space(uint32_t context) {
  const auto [entry, fresh] = spaces_.try_emplace(context);
  if (fresh) rebuild(context, entry->second);
  return entry->second;
}

uint64_t ClientMemory::bytes_from(uint64_t address) const {
  if (const auto own = holder(allocations_, address, 1); own != allocations_.end())
    return own->second.bytes - (address - own->first);
  if (const auto own = holder(host_, address, 1); own != host_.end())
    return own->second.bytes - (address - own->first);
  return 0;
}

uint8_t* ClientMemory::resolve(uint64_t address, uint64_t bytes) const {
  if (const auto own = holder(allocations_, address, bytes); own != allocations_.end())
    return device_.host(address);
  const auto own = holder(host_, address, bytes);
  if (own == host_.end() || own->second.host == nullptr) return nullptr;
  return own->second.host + (address - own->first);
}

bool ClientMemory::read(uint64_t address, void* to, uint64_t bytes) const {
  if (const uint8_t* from = resolve(address, bytes); from != nullptr) {
    std::memcpy(to, from, bytes);
    return true;
  }
  if (is_device_address(address, device_)) return false;
  return foreign(::process_vm_readv, pid_, static_cast<uint8_t*>(to), address, bytes);
}

bool ClientMemory::write(uint64_t address, const void* from, uint64_t bytes) const {
  if (uint8_t* to = resolve(address, bytes); to != nullptr) {
    std::memcpy(to, from, bytes);
    return true;
  }
  if (is_device_address(address, device_)) return false;
  // Only read through; the call's type wants it writable.
  auto* local = static_cast<uint8_t*>(const_cast<void*>(from));
  return foreign(::process_vm_writev, pid_, local, address, bytes);
}

}  // namespace gacer::simdevice
