// SPDX-License-Identifier: Apache-2.0
// cuMemAlloc, cuMemAllocPitch, cuMemFree, cuMemGetInfo, cuMemGetAddressRange and its kin
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/device_memory.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/faults.h"
#include "runtime/simdevice/driver/graph_memory.h"
#include "runtime/simdevice/driver/host_memory.h"
#include "runtime/simdevice/driver/mem_pool.h"

namespace gacer::simdriver {
namespace {

constexpr size_t kPitchBytes = 512;

struct PendingFree {
  Allocation allocation;
  std::shared_ptr<StreamCounter> counter;
  uint64_t seq;
};

struct PendingFrees {
  std::mutex mutex;
  std::vector<PendingFree> list;
};

std::atomic<bool> pool_frees_seen{false};

PendingFrees& pending_frees() {
  static PendingFrees& pending = *new PendingFrees;
  return pending;
}

Reply ask_for_memory(const Context& context, size_t bytes) {
  auto message = make_message<simdevice::MemAllocMsg>(simdevice::SimType::kMemAlloc);
  message.bytes = bytes;
  message.context = context.id();
  return Driver::get().link().request(message);
}

CUresult allocate(CUdeviceptr* out, size_t bytes) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_during_capture());
  uint64_t address = 0;
  SIM_TRY(allocate_device(*context, bytes, address));
  *out = address;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult give_device_memory(const Allocation& allocation) {
  auto message = make_message<simdevice::MemAllocMsg>(simdevice::SimType::kMemFree);
  message.address = allocation.base;
  message.bytes = allocation.bytes;
  message.context = allocation.context_id;
  return Driver::get().link().request(message).error;
}

CUresult take_device_memory(const Context& context, size_t bytes, Allocation& out) {
  if (allocation_must_fail()) return CUDA_ERROR_OUT_OF_MEMORY;
  SIM_TRY(collect_async_frees(false));
  Reply reply = ask_for_memory(context, bytes);
  if (reply.error == CUDA_ERROR_OUT_OF_MEMORY) {
    SIM_TRY(collect_async_frees(true));
    SIM_TRY(trim_all_pools());
    reply = ask_for_memory(context, bytes);
  }
  SIM_TRY(reply.error);
  out.base = reply.value;
  out.bytes = bytes;
  out.context_id = context.id();
  out.device = context.device();
  return CUDA_SUCCESS;
}

CUresult allocate_device(const Context& context, size_t bytes, uint64_t& address) {
  Allocation allocation;
  SIM_TRY(take_device_memory(context, bytes, allocation));
  allocation.buffer_id = Driver::get().next_unique_id();
  Driver::get().memory.add(allocation);
  address = allocation.base;
  return CUDA_SUCCESS;
}

CUresult free_after(const Stream& stream, const Allocation& allocation) {
  const std::lock_guard lock(pending_frees().mutex);
  pending_frees().list.push_back({allocation, stream.counter, stream.last_seq()});
  return CUDA_SUCCESS;
}

CUresult collect_async_frees(bool wait) {
  ServerLink& link = Driver::get().link();
  std::vector<PendingFree> ready;
  {
    const std::lock_guard lock(pending_frees().mutex);
    auto& list = pending_frees().list;
    const auto first_ready =
        std::stable_partition(list.begin(), list.end(), [&](const PendingFree& entry) {
          return !wait && !link.stream_done(entry.counter->id, entry.seq);
        });
    ready.assign(first_ready, list.end());
    list.erase(first_ready, list.end());
  }
  for (const PendingFree& entry : ready) {
    SIM_TRY(link.wait_stream(entry.counter->id, entry.seq));
    SIM_TRY(give_device_memory(entry.allocation));
    if (entry.allocation.pool != 0) pool_frees_seen.store(true, std::memory_order_relaxed);
  }
  return CUDA_SUCCESS;
}

bool reuse_freed_in(const Stream& stream, uint64_t pool, uint64_t bytes, uint64_t& address) {
  const auto rounded = [](uint64_t size) {
    return (size + simdevice::kPieceAlignment - 1) / simdevice::kPieceAlignment;
  };
  const std::lock_guard lock(pending_frees().mutex);
  auto& list = pending_frees().list;
  const auto found = std::find_if(list.begin(), list.end(), [&](const PendingFree& entry) {
    return entry.allocation.pool == pool && entry.counter == stream.counter &&
           rounded(entry.allocation.bytes) == rounded(bytes);
  });
  if (found == list.end()) return false;
  address = found->allocation.base;
  list.erase(found);
  return true;
}

bool take_pool_frees_seen() {
  return pool_frees_seen.exchange(false, std::memory_order_relaxed);
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return allocate(out, bytes);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned element) {
  if (pitch == nullptr || width_bytes == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  const size_t padded = (width_bytes + kPitchBytes - 1) / kPitchBytes * kPitchBytes;
  SIM_TRY(allocate(out, padded * height));
  *pitch = padded;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (address == 0) return CUDA_SUCCESS;
  const auto allocation = Driver::get().memory.find(address);
  if (allocation && allocation->kind == MemoryKind::kGraph) {
    SIM_TRY(refuse_during_capture());
    SIM_TRY(context->root().synchronize());
    return free_graph_memory(address, *context->legacy_stream());
  }
  const bool mine =
      allocation && allocation->base == address &&
      (allocation->kind == MemoryKind::kDevice || allocation->kind == MemoryKind::kManaged);
  if (!mine) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_during_capture());
  SIM_TRY(context->root().synchronize());
  if (!Driver::get().memory.remove(address)) return CUDA_ERROR_INVALID_VALUE;
  if (allocation->kind == MemoryKind::kManaged) return release_host(*allocation);
  SIM_TRY(give_device_memory(*allocation));
  if (allocation->pool != 0) pool_frees_seen.store(true, std::memory_order_relaxed);
  return observe_completion();
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  SIM_TRY(collect_async_frees(false));
  auto message = make_message<gacer::simdevice::MemAllocMsg>(gacer::simdevice::SimType::kMemInfo);
  message.context = context->id();
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  if (free_bytes != nullptr) *free_bytes = reply.value;
  if (total_bytes != nullptr) *total_bytes = reply.value2;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const auto allocation = Driver::get().memory.find(address);
  if (!allocation) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = allocation->base;
  if (bytes != nullptr) *bytes = allocation->bytes;
  return CUDA_SUCCESS;
}

// No memory of the simulated device can be given to other devices of the host.
CUresult cuMemGetHandleForAddressRange(void* out, CUdeviceptr address, size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long) {
  SIM_TRY(Driver::get().ready());
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (out == nullptr || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || bytes == 0 ||
      address % page != 0 || bytes % page != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_ERROR_NOT_SUPPORTED;
}
