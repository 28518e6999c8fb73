// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/mem_pool.h"

#include "runtime/simdevice/driver/device_memory.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/faults.h"

namespace gacer::simdriver {
namespace {

using simdevice::PoolMsg;
using simdevice::SimType;

struct DevicePools {
  std::mutex mutex;
  std::array<CUmemoryPool, simdevice::kMaxDevices> defaults{};
  std::array<CUmemoryPool, simdevice::kMaxDevices> current{};
};

DevicePools& device_pools() {
  static DevicePools& state = *new DevicePools;
  return state;
}

size_t slot(CUdevice device) {
  return static_cast<size_t>(device);
}

Reply ask_for_piece(const Pool& pool, const Stream& stream, size_t bytes) {
  auto message = make_message<PoolMsg>(SimType::kPoolAlloc);
  message.pool = pool.server_pool;
  message.bytes = bytes;
  message.context = stream.context_id;
  return Driver::get().link().request(message);
}

void remember(const Pool& pool, const Stream& stream, uint64_t address, size_t bytes) {
  Allocation allocation;
  allocation.base = address;
  allocation.bytes = bytes;
  allocation.context_id = stream.context_id;
  allocation.device = pool.device;
  allocation.buffer_id = Driver::get().next_unique_id();
  allocation.pool = pool.server_pool;
  allocation.handle_types = pool.handle_types;
  Driver::get().memory.add(allocation);
}

void trim(const Pool& pool, uint64_t keep_bytes) {
  auto message = make_message<PoolMsg>(SimType::kPoolTrim);
  message.pool = pool.server_pool;
  message.bytes = keep_bytes;
  Driver::get().link().request(message);
}

std::vector<std::shared_ptr<Pool>> own_pools() {
  std::vector<std::shared_ptr<Pool>> own;
  pools().for_each([&](Pool& pool) {
    if (!pool.imported) own.push_back(pool.shared_from_this());
  });
  return own;
}

}  // namespace

HandleTable<CUmemoryPool, Pool>& pools() {
  static auto& table = *new HandleTable<CUmemoryPool, Pool>;
  return table;
}

CUresult find_pool(CUmemoryPool handle, std::shared_ptr<Pool>& out) {
  SIM_TRY(Driver::get().ready());
  out = pools().find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult create_pool(CUdevice device, CUmemAllocationHandleType handle_types, uint64_t most_bytes,
                     std::shared_ptr<Pool>& out) {
  auto message = make_message<PoolMsg>(SimType::kPoolCreate);
  message.location = Driver::get().index_of(device);
  message.bytes = most_bytes;
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  out = std::make_shared<Pool>();
  out->server_pool = reply.value;
  out->device = device;
  out->handle_types = handle_types;
  return CUDA_SUCCESS;
}

CUresult default_pool(CUdevice device, CUmemoryPool& out) {
  SIM_TRY(Driver::get().ready());
  DevicePools& state = device_pools();
  const std::lock_guard lock(state.mutex);
  CUmemoryPool& handle = state.defaults[slot(device)];
  if (handle == nullptr) {
    std::shared_ptr<Pool> pool;
    SIM_TRY(create_pool(device, CU_MEM_HANDLE_TYPE_NONE, 0, pool));
    pool->is_default = true;
    handle = pools().add(std::move(pool));
  }
  out = handle;
  return CUDA_SUCCESS;
}

CUresult current_pool(CUdevice device, CUmemoryPool& out) {
  {
    const std::lock_guard lock(device_pools().mutex);
    out = device_pools().current[slot(device)];
  }
  return out == nullptr ? default_pool(device, out) : CUDA_SUCCESS;
}

void set_current_pool(CUdevice device, CUmemoryPool handle) {
  const std::lock_guard lock(device_pools().mutex);
  device_pools().current[slot(device)] = handle;
}

void forget_current_pool(CUmemoryPool handle) {
  const std::lock_guard lock(device_pools().mutex);
  for (CUmemoryPool& current : device_pools().current)
    if (current == handle) current = nullptr;
}

CUresult allocate_from(const Pool& pool, const Stream& stream, size_t bytes, uint64_t& address) {
  if (allocation_must_fail()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (reuse_freed_in(stream, pool.server_pool, bytes, address)) {
    remember(pool, stream, address, bytes);
    return CUDA_SUCCESS;
  }
  SIM_TRY(collect_async_frees(false));
  Reply reply = ask_for_piece(pool, stream, bytes);
  if (reply.error == CUDA_ERROR_OUT_OF_MEMORY) {
    SIM_TRY(collect_async_frees(true));
    SIM_TRY(trim_all_pools());
    reply = ask_for_piece(pool, stream, bytes);
  }
  SIM_TRY(reply.error);
  address = reply.value;
  remember(pool, stream, address, bytes);
  return CUDA_SUCCESS;
}

CUresult observe_completion() {
  SIM_TRY(collect_async_frees(false));
  if (!take_pool_frees_seen()) return CUDA_SUCCESS;
  for (const auto& pool : own_pools())
    trim(*pool, pool->release_threshold.load(std::memory_order_relaxed));
  return CUDA_SUCCESS;
}

CUresult trim_all_pools() {
  for (const auto& pool : own_pools()) trim(*pool, 0);
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
