// SPDX-License-Identifier: Apache-2.0
// Entry points: plain device memory under the tenant's limit.
#include <algorithm>

#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

using abi::CoveredFunction;

// The driver chooses the pitch, so the true size is known only after the call.
template <typename Pointer, typename Pitch, typename Call, typename Undo>
CUresult allocate_pitch(Pointer* pointer, const Pitch* pitch, uint64_t width, uint64_t height,
                        const Call& call, const Undo& undo) {
  if (pitch == nullptr) return call();
  const uint64_t least = width * height;
  return allocate_sized(
      CoveredFunction::k_cuMemAllocPitch, pointer, least, call,
      [&] { return std::max<uint64_t>(uint64_t{*pitch} * height, least); }, undo);
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature
using gacer::abi::CoveredFunction;

extern "C" {

CUresult gacer_hook_cuMemAlloc(CUdeviceptr_v1* pointer, unsigned bytes) {
  return allocate(CoveredFunction::k_cuMemAlloc, pointer, bytes,
                  [&] { return driver().cuMemAlloc(pointer, bytes); });
}
CUresult gacer_hook_cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  return allocate(CoveredFunction::k_cuMemAlloc, pointer, bytes,
                  [&] { return driver().cuMemAlloc_v2(pointer, bytes); });
}

CUresult gacer_hook_cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned* pitch, unsigned width,
                                    unsigned height, unsigned element) {
  return allocate_pitch(
      pointer, pitch, width, height,
      [&] { return driver().cuMemAllocPitch(pointer, pitch, width, height, element); },
      [&] { driver().cuMemFree(*pointer); });
}
CUresult gacer_hook_cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width,
                                       size_t height, unsigned element) {
  return allocate_pitch(
      pointer, pitch, width, height,
      [&] { return driver().cuMemAllocPitch_v2(pointer, pitch, width, height, element); },
      [&] { driver().cuMemFree_v2(*pointer); });
}

// Charged as if it were all on the current device, where it may be at any time.
CUresult gacer_hook_cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned flags) {
  return allocate(CoveredFunction::k_cuMemAllocManaged, pointer, bytes,
                  [&] { return driver().cuMemAllocManaged(pointer, bytes, flags); });
}

CUresult gacer_hook_cuMemFree(CUdeviceptr_v1 pointer) {
  return deallocate(pointer, [&] { return driver().cuMemFree(pointer); });
}
CUresult gacer_hook_cuMemFree_v2(CUdeviceptr pointer) {
  return deallocate(pointer, [&] { return driver().cuMemFree_v2(pointer); });
}

}  // extern "C"
