// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory. A pool is charged for what it has reserved from the device
// (CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), not for what the program holds of it: the reserve is what
// neighbours cannot have. It is read around the calls that change it and after synchronisation,
// when pools shrink.
//
//   an allocation that fits into the pool's free part: no request; growth nevertheless is reserved
//   afterwards, or the allocation undone
//   otherwise: a whole growth step is reserved first. The step is learnt from the driver; before
//   that, 32 MiB (its usual one) or, if that is refused, 2 MiB
//   before a refusal: unused parts of our pools on that device are trimmed
//
// Pools of the host and imported pools (their exporter pays) are charged nothing. A destroyed pool
// stays charged until its last allocation is freed. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/memory_ledger.h"

namespace gacer::interpose {

class MemoryPools {
 public:
  explicit constexpr MemoryPools(MemoryLedger& ledger) : ledger_(ledger) {}

  // `call` is the driver's allocation from `pool` into *pointer; `undo` frees *pointer again.
  // The result is the driver's, or CUDA_ERROR_OUT_OF_MEMORY.
  template <typename Call, typename Undo>
  CUresult allocate(CUmemoryPool pool, uint32_t device, CUdeviceptr* pointer, uint64_t bytes,
                    const Call& call, const Undo& undo);

  void created(CUmemoryPool pool, const CUmemPoolProps* properties);
  void imported(CUmemoryPool pool);
  template <typename Call>
  CUresult destroy(CUmemoryPool pool, const Call& call);
  // The pool may have shrunk or grown.
  void changed(CUmemoryPool pool);
  // After a wait for the device. One load while there are no pools.
  void synchronised() {
    if (in_use_.load(std::memory_order_relaxed)) read_all();
  }

  // False: not of a pool.
  bool take(CUdeviceptr pointer, MemoryRecord& record);
  void freed(const MemoryRecord& record);
  void put_back(const MemoryRecord& record);

  // Trims what is unused on the device. True: something came back. Does nothing during a capture.
  bool make_room(uint32_t device);

  void reset();  // in a fork child, before any other thread exists

 private:
  struct Pool {
    CUmemoryPool handle;
    uint32_t device;  // kNoDevice: charged nothing
    bool gone;        // destroyed, with allocations left
    uint64_t charged_bytes;
    uint64_t live_allocations;
  };
  static constexpr uint64_t kUsualStep = uint64_t{32} << 20;
  static constexpr uint64_t kLeastStep = uint64_t{2} << 20;

  Pool* find(CUmemoryPool handle);
  Pool* find_or_add(CUmemoryPool handle, uint32_t device);
  Pool* add(CUmemoryPool handle, uint32_t device);
  bool reserve_growth(const Pool& pool, uint64_t bytes, uint64_t& reserved);
  bool reserve_steps(uint32_t device, uint64_t bytes, uint64_t& reserved);
  bool settle(Pool& pool, uint64_t reserved, bool may_refuse);
  void read(Pool& pool);
  void read_all();
  bool trim(uint32_t device);
  bool remember(Pool& pool, CUdeviceptr pointer, uint64_t bytes);

  MemoryLedger& ledger_;
  SleepLock lock_;  // before the ledger's
  std::atomic<bool> in_use_{false};
  MemoryRecords allocations_;  // pointer -> index of its pool, plus one
  Pool* pools_ = nullptr;
  uint32_t count_ = 0;
  uint32_t capacity_ = 0;
  uint64_t step_bytes_ = 0;  // learnt; 0: not yet
};

template <typename Call, typename Undo>
CUresult MemoryPools::allocate(CUmemoryPool handle, uint32_t device, CUdeviceptr* pointer,
                               uint64_t bytes, const Call& call, const Undo& undo) {
  // Held over the call, so that growth belongs to it. The call itself waits for nothing.
  const SleepGuard guard(lock_);
  Pool* pool = find_or_add(handle, device);
  if (pool == nullptr || pool->device == kNoDevice) return call();
  uint64_t reserved = 0;
  if (!reserve_growth(*pool, bytes, reserved)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  const bool fits = settle(*pool, reserved, result == CUDA_SUCCESS);
  if (result != CUDA_SUCCESS) return result;
  if (fits && remember(*pool, *pointer, bytes)) return result;
  undo();
  trim(pool->device);
  *pointer = 0;
  return CUDA_ERROR_OUT_OF_MEMORY;
}

template <typename Call>
CUresult MemoryPools::destroy(CUmemoryPool handle, const Call& call) {
  const SleepGuard guard(lock_);
  Pool* pool = find(handle);
  const CUresult result = call();
  if (pool == nullptr || result != CUDA_SUCCESS) return result;
  pool->gone = true;
  if (pool->live_allocations != 0) return result;
  ledger_.cancel(pool->device, pool->charged_bytes);
  pool->charged_bytes = 0;
  return result;
}

}  // namespace gacer::interpose
