// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/memory_pool.h"

#include <algorithm>

namespace gacer::simdevice {
namespace {

void add_free_range(std::map<uint64_t, uint64_t>& free, uint64_t offset, uint64_t bytes) {
  auto next = free.lower_bound(offset);
  if (next != free.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free.erase(next);
  }
  if (next != free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free[offset] = bytes;
}

}  // namespace

PoolPiece::~PoolPiece() {
  pool_->give_back(*this);
}

void MemoryPool::Figure::add(uint64_t bytes) {
  current += bytes;
  highest = std::max(highest, current);
}

MemoryPool::MemoryPool(DeviceMemory& device, uint64_t block_bytes, uint64_t most_bytes, pid_t owner)
    : device_(device),
      block_bytes_(DeviceMemory::rounded(block_bytes)),
      most_bytes_(most_bytes),
      owner_(owner),
      access_(1U << device.index()) {}

void MemoryPool::set_access(uint32_t device, bool allow) {
  access_ = allow ? access_ | 1U << device : access_ & ~(1U << device);
}

std::shared_ptr<PoolPiece> MemoryPool::take(Block& block, uint64_t bytes) {
  const auto fits = std::find_if(block.free.begin(), block.free.end(),
                                 [bytes](const auto& range) { return range.second >= bytes; });
  if (fits == block.free.end()) return nullptr;
  const auto [offset, length] = *fits;
  block.free.erase(fits);
  if (length > bytes) block.free[offset + bytes] = length - bytes;
  used_.add(bytes);
  return std::make_shared<PoolPiece>(shared_from_this(), block.memory, offset, bytes);
}

bool MemoryPool::grow(uint64_t bytes) {
  const uint64_t size = (bytes + block_bytes_ - 1) / block_bytes_ * block_bytes_;
  if (most_bytes_ != 0 && size > most_bytes_ - std::min(most_bytes_, reserved_.current))
    return false;
  auto memory = Backing::on_device(device_, size, owner_);
  if (memory == nullptr) return false;
  reserved_.add(memory->bytes());
  const uint64_t address = memory->device_address();
  const uint64_t length = memory->bytes();
  blocks_[address] = {std::move(memory), {{0, length}}};
  return true;
}

std::shared_ptr<PoolPiece> MemoryPool::allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > device_.total_bytes()) return nullptr;
  const uint64_t size = DeviceMemory::rounded(bytes);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (auto& [address, block] : blocks_)
      if (auto piece = take(block, size); piece != nullptr) return piece;
    if (attempt == 0 && !grow(size)) return nullptr;
  }
  return nullptr;
}

void MemoryPool::give_back(const PoolPiece& piece) {
  used_.current -= piece.bytes();
  Block& block = blocks_[piece.block()->device_address()];
  add_free_range(block.free, piece.offset(), piece.bytes());
}

void MemoryPool::trim(uint64_t keep_bytes) {
  std::erase_if(blocks_, [&](const auto& entry) {
    const Block& block = entry.second;
    const uint64_t bytes = block.memory->bytes();
    const bool unused = block.free.size() == 1 && block.free.begin()->second == bytes;
    if (!unused || reserved_.current - bytes < keep_bytes) return false;
    reserved_.current -= bytes;
    return true;
  });
}

}  // namespace gacer::simdevice
