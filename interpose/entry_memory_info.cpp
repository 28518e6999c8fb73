// SPDX-License-Identifier: Apache-2.0
// Entry points: how much memory there is. Under a limit a program sees a device of that size, whose
// free part is what it would still be granted. That changes by the tenant's own doing only, unless
// the device itself has less left: then that is the answer.
#include <algorithm>

#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

template <typename Size>
void lower_to(Size* number, uint64_t bytes) {
  if (number != nullptr && *number > bytes) *number = static_cast<Size>(bytes);
}

template <typename Size, typename Call>
CUresult memory_info(Size* free_bytes, Size* total_bytes, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  MemoryLedger& memory = shim().memory;
  if (!scope.outermost() || result != CUDA_SUCCESS || !memory.limited()) return result;
  const uint32_t device = memory.devices().current();
  if (device == kNoDevice) return result;
  shim().pools.synchronised();
  const MemoryView view = memory.view(device);
  if (view.limit_bytes == 0) return result;
  const uint64_t total = std::min(view.limit_bytes, view.total_bytes);
  lower_to(free_bytes, total - std::min(view.used_bytes, total));
  lower_to(total_bytes, total);
  return result;
}

template <typename Size, typename Call>
CUresult total_memory(Size* bytes, CUdevice device, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  MemoryLedger& memory = shim().memory;
  if (!scope.outermost() || result != CUDA_SUCCESS || !memory.limited()) return result;
  const uint32_t index = memory.devices().index_of(device);
  const uint64_t limit = index == kNoDevice ? 0 : memory.view(index).limit_bytes;
  if (limit != 0) lower_to(bytes, limit);
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuMemGetInfo(unsigned* free_bytes, unsigned* total_bytes) {
  return memory_info(free_bytes, total_bytes,
                     [&] { return driver().cuMemGetInfo(free_bytes, total_bytes); });
}
CUresult gacer_hook_cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return memory_info(free_bytes, total_bytes,
                     [&] { return driver().cuMemGetInfo_v2(free_bytes, total_bytes); });
}

CUresult gacer_hook_cuDeviceTotalMem(unsigned* bytes, CUdevice device) {
  return total_memory(bytes, device, [&] { return driver().cuDeviceTotalMem(bytes, device); });
}
CUresult gacer_hook_cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return total_memory(bytes, device, [&] { return driver().cuDeviceTotalMem_v2(bytes, device); });
}

}  // extern "C"
