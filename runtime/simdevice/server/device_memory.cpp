// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {
namespace {
constexpr uint64_t kPage = 4096;
}

Result<DeviceMemory> DeviceMemory::create(uint64_t bytes, uint32_t index) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return Error{errno, "cannot reserve " + std::to_string(bytes >> 20) +
                            " MiB of address space for the device: " + std::strerror(errno)};
  ::madvise(base, bytes, MADV_DONTDUMP);
  return DeviceMemory(static_cast<uint8_t*>(base), bytes, index);
}

DeviceMemory::DeviceMemory(uint8_t* base, uint64_t bytes, uint32_t index)
    : base_(base), index_(index), total_bytes_(bytes) {
  free_[0] = bytes;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      index_(other.index_),
      total_bytes_(other.total_bytes_),
      allocated_bytes_(other.allocated_bytes_),
      charged_bytes_(other.charged_bytes_),
      free_(std::move(other.free_)) {}

DeviceMemory::~DeviceMemory() {
  if (base_ != nullptr) ::munmap(base_, total_bytes_);
}

uint64_t DeviceMemory::first_address() const {
  return kDeviceBase + index_ * kDeviceSpan;
}

uint64_t DeviceMemory::rounded(uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

uint64_t DeviceMemory::free_bytes() const {
  return total_bytes_ - std::min(total_bytes_, allocated_bytes_ + charged_bytes_);
}

std::optional<uint64_t> DeviceMemory::allocate(uint64_t bytes, pid_t owner) {
  if (bytes == 0 || bytes > free_bytes()) return std::nullopt;
  const uint64_t size = rounded(bytes);
  const auto range =
      std::find_if(free_.begin(), free_.end(), [size](const auto& r) { return r.second >= size; });
  if (range == free_.end() || size > free_bytes()) return std::nullopt;
  const auto [offset, length] = *range;
  free_.erase(range);
  if (length > size) free_[offset + size] = length - size;
  allocated_bytes_ += size;
  used_[owner] += size;
  return first_address() + offset;
}

void DeviceMemory::free(uint64_t address, uint64_t bytes, pid_t owner) {
  uint64_t offset = address - first_address();
  uint64_t size = rounded(bytes);
  give_back_pages(offset, size);
  allocated_bytes_ -= size;
  count_off(owner, size);
  const auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + size) {
    size += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

void DeviceMemory::give_back_pages(uint64_t offset, uint64_t bytes) {
  const uint64_t begin = (offset + kPage - 1) / kPage * kPage;
  const uint64_t end = (offset + bytes) / kPage * kPage;
  if (begin >= end) {
    std::memset(base_ + offset, 0, bytes);
    return;
  }
  std::memset(base_ + offset, 0, begin - offset);
  std::memset(base_ + end, 0, offset + bytes - end);
  ::madvise(base_ + begin, end - begin, MADV_DONTNEED);
}

bool DeviceMemory::charge(uint64_t bytes, pid_t owner) {
  if (bytes > free_bytes()) return false;
  charged_bytes_ += bytes;
  used_[owner] += bytes;
  return true;
}

void DeviceMemory::refund(uint64_t bytes, pid_t owner) {
  charged_bytes_ -= bytes;
  count_off(owner, bytes);
}

void DeviceMemory::count_off(pid_t owner, uint64_t bytes) {
  const auto used = used_.find(owner);
  if (used != used_.end() && (used->second -= bytes) == 0) used_.erase(used);
}

uint64_t DeviceMemory::used_bytes(pid_t owner) const {
  const auto used = used_.find(owner);
  return used == used_.end() ? 0 : used->second;
}

uint8_t* DeviceMemory::host(uint64_t address) const {
  return base_ + (address - first_address());
}

}  // namespace gacer::simdevice
