// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/client_memory.h"

#include <cuda.h>
#include <sys/mman.h>
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

template <typename Map>
bool overlaps(const Map& map, uint64_t address, uint64_t bytes) {
  const auto after = map.lower_bound(address);
  if (after != map.end() && after->first - address < bytes) return true;
  if (after == map.begin()) return false;
  const auto before = std::prev(after);
  return address - before->first < before->second.bytes;
}

constexpr uint64_t kMostBytesPerCall = 1ULL << 30;  // the kernel moves less than 2 GiB a call

bool in_virtual_range(uint64_t address, uint64_t bytes) {
  return address >= kVirtualBase && address < kVirtualEnd && bytes > 0 &&
         bytes <= kVirtualEnd - address;
}

Error invalid(const char* what) {
  return Error{CUDA_ERROR_INVALID_VALUE, what};
}

}  // namespace

ClientMemory::~ClientMemory() {
  for (auto& [address, mapping] : host_) release(mapping);
  for (const auto& [id, context] : contexts_) context.device->refund(context.charged, pid_);
}

Status ClientMemory::add_context(uint32_t context, uint32_t device, uint64_t bytes) {
  if (device >= devices_.size()) return Error{CUDA_ERROR_INVALID_DEVICE, "no such device"};
  if (has_context(context)) return invalid("context exists already");
  if (!devices_[device].charge(bytes, pid_))
    return Error{CUDA_ERROR_OUT_OF_MEMORY, "no device memory for another context"};
  contexts_[context] = {&devices_[device], bytes, {}};
  return {};
}

bool ClientMemory::remove_context(uint32_t context) {
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return false;
  std::erase_if(regions_, [&](const auto& entry) {
    return !entry.second.mapping && entry.second.context == context;
  });
  found->second.device->refund(found->second.charged, pid_);
  contexts_.erase(found);
  for (auto& [id, other] : contexts_) other.peers.erase(context);
  spaces_.clear();
  return true;
}

bool ClientMemory::has_context_on(uint32_t device) const {
  return std::any_of(contexts_.begin(), contexts_.end(),
                     [&](const auto& entry) { return entry.second.device == &devices_[device]; });
}

DeviceMemory* ClientMemory::device_of(uint32_t context) const {
  const auto found = contexts_.find(context);
  return found == contexts_.end() ? nullptr : found->second.device;
}

Status ClientMemory::set_peer(uint32_t context, uint32_t peer, bool enable) {
  const auto found = contexts_.find(context);
  if (found == contexts_.end() || !has_context(peer) || context == peer)
    return Error{CUDA_ERROR_INVALID_CONTEXT, "peer access between contexts that do not exist"};
  if (enable) {
    found->second.peers.insert(peer);
  } else {
    found->second.peers.erase(peer);
  }
  spaces_.clear();
  return {};
}

std::optional<uint64_t> ClientMemory::allocate(uint32_t context, uint64_t bytes) {
  DeviceMemory* device = device_of(context);
  auto backing = device == nullptr ? nullptr : Backing::on_device(*device, bytes, pid_);
  if (backing == nullptr) return std::nullopt;
  const uint64_t address = backing->device_address();
  const uint64_t size = backing->bytes();
  regions_[address] = {size, std::move(backing), 0, context, false, 0, nullptr};
  spaces_.clear();
  return address;
}

bool ClientMemory::add_piece(uint32_t context, std::shared_ptr<PoolPiece> piece) {
  const uint64_t address = piece->address();
  if (overlaps(regions_, address, piece->bytes())) return false;
  regions_[address] = {piece->bytes(), piece->block(), piece->offset(), context, false, 0, piece};
  spaces_.clear();
  return true;
}

bool ClientMemory::add_import(uint32_t context, std::shared_ptr<Backing> backing) {
  const uint64_t address = backing->device_address();
  const uint64_t bytes = backing->bytes();
  if (overlaps(regions_, address, bytes)) return false;
  regions_[address] = {bytes, std::move(backing), 0, context, false, 0, nullptr};
  spaces_.clear();
  return true;
}

std::variant<std::monostate, std::shared_ptr<Backing>, std::shared_ptr<PoolPiece>>
ClientMemory::shareable(uint64_t address) const {
  const auto found = regions_.find(address);
  if (found == regions_.end() || found->second.mapping) return {};
  if (found->second.piece != nullptr) return found->second.piece;
  return found->second.backing;
}

bool ClientMemory::free(uint64_t address) {
  const auto found = regions_.find(address);
  if (found == regions_.end() || found->second.mapping) return false;
  regions_.erase(found);
  spaces_.clear();
  return true;
}

Status ClientMemory::map(uint64_t address, uint64_t bytes, std::shared_ptr<Backing> backing,
                         uint64_t offset) {
  if (!in_virtual_range(address, bytes) || overlaps(regions_, address, bytes))
    return invalid("mapping is empty, outside the virtual range or overlaps another one");
  if (offset > backing->bytes() || bytes > backing->bytes() - offset ||
      (address | bytes | offset) % kPhysicalGranularity != 0)
    return invalid("mapping is not aligned or longer than its physical memory");
  regions_[address] = {bytes, std::move(backing), offset, 0, true, 0, nullptr};
  spaces_.clear();
  return {};
}

std::vector<ClientMemory::Regions::iterator> ClientMemory::exact_mappings(uint64_t address,
                                                                          uint64_t bytes) {
  std::vector<Regions::iterator> parts;
  uint64_t next = address;
  for (auto it = regions_.find(address); bytes > 0 && it != regions_.end(); ++it) {
    const uint64_t left = address + bytes - next;
    if (it->first != next || !it->second.mapping || it->second.bytes > left) return {};
    parts.push_back(it);
    next += it->second.bytes;
    if (next == address + bytes) return parts;
  }
  return {};
}

Status ClientMemory::unmap(uint64_t address, uint64_t bytes) {
  if (!in_virtual_range(address, bytes)) return invalid("unmapping outside the virtual range");
  const auto parts = exact_mappings(address, bytes);
  if (parts.empty()) return invalid("unmapping something else than whole mappings");
  for (const auto& part : parts) regions_.erase(part);
  spaces_.clear();
  return {};
}

Status ClientMemory::set_access(uint64_t address, uint64_t bytes, uint32_t device, bool allow) {
  if (!in_virtual_range(address, bytes) || device >= devices_.size())
    return invalid("access outside the virtual range or for no device");
  const auto parts = exact_mappings(address, bytes);
  if (parts.empty()) return invalid("access to something else than whole mappings");
  for (const auto& part : parts) {
    uint32_t& access = part->second.access;
    access = allow ? access | 1U << device : access & ~(1U << device);
  }
  spaces_.clear();
  return {};
}

bool ClientMemory::overlaps_host(uint64_t address, uint64_t bytes) const {
  return overlaps(host_, address, bytes);
}

bool ClientMemory::is_device_address(uint64_t address) {
  return address >= kDeviceBase && address < kVirtualEnd;
}

Status ClientMemory::map_host(uint64_t address, uint64_t bytes, bool charge, UniqueFd fd,
                              uint32_t context) {
  const uint64_t end = address + bytes;
  const bool windows = address < kLocalWindow + (1ULL << 32) && end > kSharedWindow;
  const bool device = address < kVirtualEnd && end > kDeviceBase;
  if (address == 0 || bytes == 0 || end < address || windows || device ||
      overlaps_host(address, bytes))
    return invalid("host mapping is empty or overlaps another one");
  HostMapping mapping{bytes, nullptr, device_of(context), charge ? bytes : 0};
  if (charge && mapping.device == nullptr)
    return Error{CUDA_ERROR_INVALID_CONTEXT, "managed memory of no context"};
  if (charge && !mapping.device->charge(bytes, pid_))
    return Error{CUDA_ERROR_OUT_OF_MEMORY, "managed memory does not fit on the device"};
  if (fd.valid()) {
    mapping.host = map_client_memory(fd.get(), bytes);
    if (mapping.host == nullptr) {
      release(mapping);
      return invalid("host memory descriptor is too small or lacks F_SEAL_SHRINK");
    }
  }
  host_[address] = mapping;
  spaces_.clear();
  return {};
}

void ClientMemory::release(HostMapping& mapping) const {
  if (mapping.host != nullptr) ::munmap(mapping.host, mapping.bytes);
  if (mapping.device != nullptr) mapping.device->refund(mapping.charged, pid_);
}

bool ClientMemory::unmap_host(uint64_t address) {
  const auto found = host_.find(address);
  if (found == host_.end()) return false;
  release(found->second);
  host_.erase(found);
  spaces_.clear();
  return true;
}

bool ClientMemory::visible_to(const Region& region, uint32_t context, const Context* info) const {
  const uint32_t access = region.piece != nullptr ? region.piece->pool()->access() : region.access;
  if (!region.mapping && region.piece == nullptr)
    return region.context == context || (info != nullptr && info->peers.contains(region.context));
  return info != nullptr && (access >> info->device->index() & 1) != 0;
}

void ClientMemory::rebuild(uint32_t context, AddressSpace& space) const {
  const auto known = contexts_.find(context);
  const Context* info = known == contexts_.end() ? nullptr : &known->second;
  std::vector<MemoryRegion> regions;
  regions.reserve(regions_.size() + host_.size());
  for (const auto& [address, region] : regions_)
    if (visible_to(region, context, info))
      regions.push_back({address, region.bytes, region.host()});
  for (const auto& [address, mapping] : host_)
    if (mapping.host != nullptr) regions.push_back({address, mapping.bytes, mapping.host});
  std::sort(regions.begin(), regions.end(),
            [](const MemoryRegion& a, const MemoryRegion& b) { return a.base < b.base; });
  space = AddressSpace(std::move(regions));
}

std::optional<HostRange> ClientMemory::foreign_at(uint64_t address) const {
  auto next = host_.upper_bound(address);
  if (next == host_.begin()) return std::nullopt;
  const auto& [start, mapping] = *--next;
  if (mapping.host != nullptr || address - start >= mapping.bytes) return std::nullopt;
  return HostRange{start, mapping.bytes};
}

const AddressSpace& ClientMemory::space(uint32_t context) {
  const auto [entry, fresh] = spaces_.try_emplace(context);
  if (fresh) rebuild(context, entry->second);
  return entry->second;
}

uint64_t ClientMemory::bytes_from(uint64_t address) const {
  if (auto own = holder(regions_, address, 1); own != regions_.end()) {
    uint64_t end = own->first + own->second.bytes;
    for (++own; own != regions_.end() && own->second.mapping && own->first == end; ++own)
      end += own->second.bytes;
    return end - address;
  }
  if (const auto own = holder(host_, address, 1); own != host_.end())
    return own->second.bytes - (address - own->first);
  return 0;
}

std::optional<uint32_t> ClientMemory::location(uint64_t address) const {
  const auto own = holder(regions_, address, 1);
  if (own == regions_.end() || !own->second.backing->is_on_device()) return std::nullopt;
  return own->second.backing->location();
}

uint8_t* ClientMemory::resolve(uint64_t address, uint64_t bytes) const {
  if (const auto own = holder(regions_, address, bytes); own != regions_.end())
    return own->second.closed() ? nullptr : own->second.host() + (address - own->first);
  const auto own = holder(host_, address, bytes);
  if (own == host_.end() || own->second.host == nullptr) return nullptr;
  return own->second.host + (address - own->first);
}

uint8_t* ClientMemory::resolve_part(uint64_t address, uint64_t& bytes) const {
  if (uint8_t* whole = resolve(address, bytes); whole != nullptr) return whole;
  const auto own = holder(regions_, address, 1);
  if (own == regions_.end() || own->second.closed()) return nullptr;
  bytes = std::min(bytes, own->second.bytes - (address - own->first));
  return own->second.host() + (address - own->first);
}

bool ClientMemory::foreign(ForeignCall call, uint8_t* local, uint64_t address,
                           uint64_t bytes) const {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min(bytes - done, kMostBytesPerCall);
    const iovec here{local + done, part};
    const iovec there{reinterpret_cast<void*>(address + done), part};
    const ssize_t moved = call(pid_, &here, 1, &there, 1, 0);
    if (moved < 0 && errno == ESRCH) note_owner_is_gone();
    if (moved <= 0) return false;
    done += static_cast<uint64_t>(moved);
  }
  return true;
}

bool ClientMemory::read(uint64_t address, void* to, uint64_t bytes) const {
  auto* local = static_cast<uint8_t*>(to);
  for (uint64_t done = 0; done < bytes;) {
    uint64_t part = bytes - done;
    if (const uint8_t* from = resolve_part(address + done, part); from != nullptr) {
      std::memcpy(local + done, from, part);
      done += part;
      continue;
    }
    if (is_device_address(address + done)) return false;
    return foreign(::process_vm_readv, local + done, address + done, part);
  }
  return true;
}

bool ClientMemory::write(uint64_t address, const void* from, uint64_t bytes) const {
  // Only read through; the call's type wants it writable.
  auto* local = static_cast<uint8_t*>(const_cast<void*>(from));
  for (uint64_t done = 0; done < bytes;) {
    uint64_t part = bytes - done;
    if (uint8_t* to = resolve_part(address + done, part); to != nullptr) {
      std::memcpy(to, local + done, part);
      done += part;
      continue;
    }
    if (is_device_address(address + done)) return false;
    return foreign(::process_vm_writev, local + done, address + done, part);
  }
  return true;
}

}  // namespace gacer::simdevice
