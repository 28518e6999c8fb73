// SPDX-License-Identifier: Apache-2.0
// Entry points: arrays and mipmapped arrays.
#include "interpose/memory_arrays.h"
#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

using abi::CoveredFunction;

// The driver's own number where it has one, else the estimate.
template <typename Array, typename Ask>
uint64_t real_bytes(Array array, uint64_t estimate, const Ask& ask) {
  CUdevice device = 0;
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements{};
  if (estimate == 0 || driver().cuCtxGetDevice(&device) != CUDA_SUCCESS) return estimate;
  if (ask(&requirements, array, device) != CUDA_SUCCESS || requirements.size == 0) return estimate;
  return requirements.size;
}

template <typename Call>
CUresult create_array(CoveredFunction function, CUarray* array, uint64_t estimate,
                      const Call& call) {
  return allocate_sized(
      function, array, estimate, call,
      [&] { return real_bytes(*array, estimate, driver().cuArrayGetMemoryRequirements); },
      [&] { driver().cuArrayDestroy(*array); });
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature
using gacer::abi::CoveredFunction;

extern "C" {

#define GACER_ARRAY_CREATE(symbol, descriptor, function, shape)                             \
  CUresult gacer_hook_##symbol(CUarray* array, const descriptor* description) {             \
    if (description == nullptr) return driver().symbol(array, description);                 \
    return create_array(CoveredFunction::function, array, array_bytes(shape(*description)), \
                        [&] { return driver().symbol(array, description); });               \
  }
GACER_ARRAY_CREATE(cuArrayCreate, CUDA_ARRAY_DESCRIPTOR_v1, k_cuArrayCreate, flat_shape)
GACER_ARRAY_CREATE(cuArrayCreate_v2, CUDA_ARRAY_DESCRIPTOR, k_cuArrayCreate, flat_shape)
GACER_ARRAY_CREATE(cuArray3DCreate, CUDA_ARRAY3D_DESCRIPTOR_v1, k_cuArray3DCreate, wide_shape)
GACER_ARRAY_CREATE(cuArray3DCreate_v2, CUDA_ARRAY3D_DESCRIPTOR, k_cuArray3DCreate, )

CUresult gacer_hook_cuArrayDestroy(CUarray array) {
  return deallocate(key_of(array), [&] { return driver().cuArrayDestroy(array); });
}

CUresult gacer_hook_cuMipmappedArrayCreate(CUmipmappedArray* array,
                                           const CUDA_ARRAY3D_DESCRIPTOR* description,
                                           unsigned levels) {
  const auto call = [&] { return driver().cuMipmappedArrayCreate(array, description, levels); };
  if (description == nullptr) return call();
  const uint64_t estimate = mipmap_bytes(*description, levels);
  return allocate_sized(
      CoveredFunction::k_cuMipmappedArrayCreate, array, estimate, call,
      [&] { return real_bytes(*array, estimate, driver().cuMipmappedArrayGetMemoryRequirements); },
      [&] { driver().cuMipmappedArrayDestroy(*array); });
}

CUresult gacer_hook_cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return deallocate(key_of(array), [&] { return driver().cuMipmappedArrayDestroy(array); });
}

}  // extern "C"
