// SPDX-License-Identifier: Apache-2.0
// A memory pool: takes blocks of device memory and hands out pieces of them. A piece gives itself
// back when the last reference to it goes; blocks go back by trim() only. Lives as long as its
// pieces. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "runtime/simdevice/server/backing.h"

namespace gacer::simdevice {

class MemoryPool;

class PoolPiece {
 public:
  PoolPiece(std::shared_ptr<MemoryPool> pool, std::shared_ptr<Backing> block, uint64_t offset,
            uint64_t bytes)
      : pool_(std::move(pool)), block_(std::move(block)), offset_(offset), bytes_(bytes) {}
  PoolPiece(const PoolPiece&) = delete;
  PoolPiece& operator=(const PoolPiece&) = delete;
  ~PoolPiece();

  const std::shared_ptr<MemoryPool>& pool() const { return pool_; }
  const std::shared_ptr<Backing>& block() const { return block_; }
  uint64_t offset() const { return offset_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t address() const { return block_->device_address() + offset_; }

 private:
  std::shared_ptr<MemoryPool> pool_;
  std::shared_ptr<Backing> block_;
  uint64_t offset_;
  uint64_t bytes_;
};

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  static constexpr uint64_t kUsualBlockBytes = 32ULL << 20;

  struct Figure {
    uint64_t current = 0;
    uint64_t highest = 0;
    void add(uint64_t bytes);
  };

  // Grows in multiples of `block_bytes`, to `most_bytes` (0: as far as the device has memory).
  // `device` outlives the pool. `owner`: the process that its blocks count for.
  MemoryPool(DeviceMemory& device, uint64_t block_bytes, uint64_t most_bytes, pid_t owner = 0);

  // nullptr: no room. First fit among free ranges, then a new block.
  std::shared_ptr<PoolPiece> allocate(uint64_t bytes);
  // Gives wholly free blocks back while at least `keep_bytes` stay reserved.
  void trim(uint64_t keep_bytes);

  uint32_t location() const { return device_.index(); }
  Figure& reserved() { return reserved_; }
  Figure& used() { return used_; }
  // A bit for each device whose kernels may touch its memory.
  uint32_t access() const { return access_; }
  void set_access(uint32_t device, bool allow);

 private:
  friend class PoolPiece;
  struct Block {
    std::shared_ptr<Backing> memory;
    std::map<uint64_t, uint64_t> free;  // offset -> bytes
  };
  std::shared_ptr<PoolPiece> take(Block& block, uint64_t bytes);
  bool grow(uint64_t bytes);
  void give_back(const PoolPiece& piece);

  DeviceMemory& device_;
  uint64_t block_bytes_;
  uint64_t most_bytes_;
  pid_t owner_;
  uint32_t access_;
  Figure reserved_;
  Figure used_;
  std::map<uint64_t, Block> blocks_;  // by device address
};

}  // namespace gacer::simdevice
