// SPDX-License-Identifier: Apache-2.0
// cuMemAlloc, cuMemAllocPitch, cuMemFree, cuMemGetInfo, cuMemGetAddressRange
#include <algorithm>
#include <memory>
#include <mutex>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/device_memory.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/host_memory.h"

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

PendingFrees& pending_frees() {
  static PendingFrees& pending = *new PendingFrees;
  return pending;
}

CUresult free_on_server(const Allocation& allocation) {
  auto message = make_message<simdevice::MemAllocMsg>(simdevice::SimType::kMemFree);
  message.address = allocation.base;
  message.bytes = allocation.bytes;
  message.context = allocation.context_id;
  return Driver::get().link().request(message).error;
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
  SIM_TRY(allocate_device(*context, bytes, false, address));
  *out = address;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult allocate_device(const Context& context, size_t bytes, bool from_pool, uint64_t& address) {
  SIM_TRY(collect_async_frees(false));
  Reply reply = ask_for_memory(context, bytes);
  if (reply.error == CUDA_ERROR_OUT_OF_MEMORY) {
    SIM_TRY(collect_async_frees(true));
    reply = ask_for_memory(context, bytes);
  }
  SIM_TRY(reply.error);
  Allocation allocation;
  allocation.base = reply.value;
  allocation.bytes = bytes;
  allocation.context_id = context.id();
  allocation.device = context.device();
  allocation.buffer_id = Driver::get().next_unique_id();
  allocation.from_pool = from_pool;
  Driver::get().memory.add(allocation);
  address = reply.value;
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
    SIM_TRY(free_on_server(entry.allocation));
  }
  return CUDA_SUCCESS;
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
  const bool mine =
      allocation && allocation->base == address &&
      (allocation->kind == MemoryKind::kDevice || allocation->kind == MemoryKind::kManaged);
  if (!mine) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(refuse_during_capture());
  SIM_TRY(context->synchronize());
  if (!Driver::get().memory.remove(address)) return CUDA_ERROR_INVALID_VALUE;
  return allocation->kind == MemoryKind::kManaged ? release_host(*allocation)
                                                  : free_on_server(*allocation);
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
