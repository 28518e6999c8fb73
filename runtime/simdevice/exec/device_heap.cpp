// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/device_heap.h"

#include <sys/mman.h>

#include <algorithm>

namespace gacer::simdevice {

DeviceHeap::DeviceHeap(uint64_t bytes) {
  map(bytes);
}

DeviceHeap::~DeviceHeap() {
  unmap();
}

void DeviceHeap::map(uint64_t bytes) {
  void* memory = ::mmap(nullptr, std::max<uint64_t>(bytes, 1), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  host_ = memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  bytes_ = host_ == nullptr ? 0 : bytes;
}

void DeviceHeap::unmap() {
  if (host_ != nullptr) ::munmap(host_, std::max<uint64_t>(bytes_, 1));
  host_ = nullptr;
}

bool DeviceHeap::resize(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!used_.empty()) return false;
  unmap();
  map(bytes);
  return true;
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_) return 0;
  bytes = (std::max<uint64_t>(bytes, 1) + 15) & ~uint64_t{15};
  uint64_t at = 0;
  for (const auto& [offset, size] : used_) {
    if (offset - at >= bytes) break;
    at = offset + size;
  }
  if (at + bytes > bytes_) return 0;
  used_[at] = bytes;
  return kHeapWindow + at;
}

bool DeviceHeap::free(uint64_t address) {
  if (address == 0) return true;
  const std::lock_guard lock(mutex_);
  return address >= kHeapWindow && used_.erase(address - kHeapWindow) != 0;
}

uint8_t* DeviceHeap::find(uint64_t address, uint64_t bytes) {
  const uint64_t offset = address - kHeapWindow;
  const std::lock_guard lock(mutex_);
  if (offset >= bytes_) return nullptr;
  auto after = used_.upper_bound(offset);
  if (after == used_.begin()) return nullptr;
  --after;
  if (offset - after->first >= after->second || bytes > after->second - (offset - after->first))
    return nullptr;
  return host_ + offset;
}

}  // namespace gacer::simdevice
