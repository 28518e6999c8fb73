// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_pools.h"

#include <algorithm>
#include <cstdlib>

#include "interpose/driver.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

bool attribute(CUmemoryPool pool, CUmemPool_attribute which, uint64_t& bytes) {
  cuuint64_t value = 0;
  if (driver().cuMemPoolGetAttribute(pool, which, &value) != CUDA_SUCCESS) return false;
  bytes = value;
  return true;
}

uint64_t round_up(uint64_t bytes, uint64_t step) {
  return bytes > UINT64_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

}  // namespace

MemoryPools::Pool* MemoryPools::find(CUmemoryPool handle) {
  for (uint32_t i = 0; i < count_; ++i)
    if (pools_[i].handle == handle && !pools_[i].gone) return &pools_[i];
  return nullptr;
}

// NULL: no memory for it.
MemoryPools::Pool* MemoryPools::add(CUmemoryPool handle, uint32_t device) {
  const Pool fresh{handle, device, false, 0, 0};
  for (uint32_t i = 0; i < count_; ++i)
    if (pools_[i].gone && pools_[i].live_allocations == 0) return &(pools_[i] = fresh);
  if (count_ == capacity_) {
    const uint32_t wanted = capacity_ == 0 ? 16 : capacity_ * 2;
    void* grown = realloc(pools_, wanted * sizeof(Pool));
    if (grown == nullptr) return nullptr;
    pools_ = static_cast<Pool*>(grown);
    capacity_ = wanted;
  }
  in_use_.store(true, std::memory_order_relaxed);
  return &(pools_[count_++] = fresh);
}

MemoryPools::Pool* MemoryPools::find_or_add(CUmemoryPool handle, uint32_t device) {
  Pool* known = find(handle);
  return known != nullptr ? known : add(handle, device);
}

bool MemoryPools::reserve_steps(uint32_t device, uint64_t bytes, uint64_t& reserved) {
  for (const uint64_t step : {step_bytes_ != 0 ? step_bytes_ : kUsualStep, kLeastStep}) {
    reserved = round_up(bytes, step);
    if (ledger_.reserve(device, reserved)) return true;
    if (step_bytes_ != 0) break;
  }
  reserved = 0;
  return false;
}

// Of what the allocation may make the pool grow by. False: over the limit.
bool MemoryPools::reserve_growth(const Pool& pool, uint64_t bytes, uint64_t& reserved) {
  uint64_t all = 0;
  uint64_t used = 0;
  if (!ledger_.limited()) return true;
  if (attribute(pool.handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, all) &&
      attribute(pool.handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, used) && used <= all &&
      bytes <= all - used)
    return true;
  return reserve_steps(pool.device, bytes, reserved) ||
         (trim(pool.device) && reserve_steps(pool.device, bytes, reserved));
}

// Makes the charge what the driver has reserved. `reserved` is already with the ledger. False: the
// pool has grown past it and the limit; the growth is counted all the same until it is undone.
bool MemoryPools::settle(Pool& pool, uint64_t reserved, bool may_refuse) {
  const uint64_t charged = pool.charged_bytes + reserved;
  uint64_t now = 0;
  // Not known: what was reserved stays charged until the next reading.
  if (!attribute(pool.handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, now)) now = charged;
  if (reserved != 0 && now > pool.charged_bytes)
    step_bytes_ = std::max(step_bytes_, std::min(now - pool.charged_bytes, kUsualStep));
  pool.charged_bytes = now;
  if (now <= charged) {
    ledger_.cancel(pool.device, charged - now);
    return true;
  }
  if (ledger_.reserve(pool.device, now - charged)) return true;
  ledger_.force(pool.device, now - charged);
  return !may_refuse;
}

bool MemoryPools::remember(Pool& pool, CUdeviceptr pointer, uint64_t bytes) {
  const auto index = static_cast<uint32_t>(&pool - pools_);
  if (!allocations_.put({pointer, bytes, nullptr, pool.device, index + 1})) return false;
  ++pool.live_allocations;
  return true;
}

void MemoryPools::read(Pool& pool) {
  if (!pool.gone && pool.device != kNoDevice) settle(pool, 0, false);
}

void MemoryPools::read_all() {
  const SleepGuard guard(lock_);
  for (uint32_t i = 0; i < count_; ++i) read(pools_[i]);
}

bool MemoryPools::trim(uint32_t device) {
  if (shim().captures.any()) return false;
  const uint64_t before = ledger_.used_bytes(device);
  for (uint32_t i = 0; i < count_; ++i) {
    Pool& pool = pools_[i];
    if (pool.gone || pool.device != device || pool.charged_bytes == 0) continue;
    driver().cuMemPoolTrimTo(pool.handle, 0);
    read(pool);
  }
  return ledger_.used_bytes(device) < before;
}

bool MemoryPools::make_room(uint32_t device) {
  if (!in_use_.load(std::memory_order_relaxed)) return false;
  const SleepGuard guard(lock_);
  return trim(device);
}

void MemoryPools::created(CUmemoryPool handle, const CUmemPoolProps* properties) {
  uint32_t device = kNoDevice;
  if (properties != nullptr && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
    device = ledger_.devices().index_of(properties->location.id);
  const SleepGuard guard(lock_);
  if (Pool* known = find(handle)) known->gone = true;  // we missed its end
  add(handle, device);
}

void MemoryPools::imported(CUmemoryPool handle) {
  const SleepGuard guard(lock_);
  if (find(handle) == nullptr) add(handle, kNoDevice);
}

void MemoryPools::changed(CUmemoryPool handle) {
  const SleepGuard guard(lock_);
  if (Pool* pool = find(handle)) read(*pool);
}

bool MemoryPools::take(CUdeviceptr pointer, MemoryRecord& record) {
  if (!in_use_.load(std::memory_order_relaxed)) return false;
  const SleepGuard guard(lock_);
  return allocations_.take(pointer, record);
}

void MemoryPools::freed(const MemoryRecord& record) {
  const SleepGuard guard(lock_);
  Pool& pool = pools_[record.pool - 1];
  --pool.live_allocations;
  if (!pool.gone) return read(pool);
  if (pool.live_allocations != 0) return;
  ledger_.cancel(pool.device, pool.charged_bytes);
  pool.charged_bytes = 0;
}

void MemoryPools::put_back(const MemoryRecord& record) {
  const SleepGuard guard(lock_);
  if (!allocations_.put(record)) --pools_[record.pool - 1].live_allocations;
}

void MemoryPools::reset() {
  lock_.force_open();
  allocations_.clear();
  count_ = 0;
  in_use_.store(false, std::memory_order_relaxed);
}

}  // namespace gacer::interpose
