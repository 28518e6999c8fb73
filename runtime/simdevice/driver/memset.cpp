// SPDX-License-Identifier: Apache-2.0
// cuMemset*
#include "runtime/simdevice/driver/memset.h"

#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/submit.h"

namespace gacer::simdriver {

CUresult make_memset(const MemoryMap& memory, uint64_t dst, uint64_t pitch, uint32_t element_bytes,
                     uint32_t value, uint64_t width_elements, uint64_t height, MemsetWork& out) {
  out = {dst,   width_elements, height, height > 1 ? pitch : width_elements * element_bytes,
         value, element_bytes};
  if (width_elements == 0 || height == 0) return CUDA_SUCCESS;
  if (dst % element_bytes != 0 || out.pitch % element_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (out.pitch < width_elements * element_bytes) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t bytes = (height - 1) * out.pitch + width_elements * element_bytes;
  return memory.find(dst, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

namespace {

// `wait`: the plain forms wait where the host can see the memory; for device memory no form does.
CUresult fill(CUstream handle, CUdeviceptr dst, size_t pitch, uint32_t element_bytes,
              uint32_t value, size_t width, size_t height, bool wait) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  MemsetWork work;
  SIM_TRY(make_memset(Driver::get().memory, dst, pitch, element_bytes, value, width, height, work));
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  SIM_TRY(submit(stream, work));
  const bool host_visible = !Driver::get().memory.in_device_range(dst);
  return wait && host_visible ? synchronize_stream(*stream) : CUDA_SUCCESS;
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): a type is no expression
#define MEMSET(bits, type)                                                                        \
  SIM_DEFAULT_STREAM_PAIR(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dst, type value, size_t n),   \
                          fill, dst, 0, bits / 8, value, n, 1, true)                              \
  SIM_DEFAULT_STREAM_PAIR(                                                                        \
      cuMemsetD2D##bits##_v2, _ptds,                                                              \
      (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height), fill, dst, pitch, \
      bits / 8, value, width, height, true)                                                       \
  SIM_STREAM_PAIR(cuMemsetD##bits##Async, _ptsz,                                                  \
                  (CUdeviceptr dst, type value, size_t n, CUstream stream), fill, stream, dst, 0, \
                  bits / 8, value, n, 1, false)                                                   \
  SIM_STREAM_PAIR(                                                                                \
      cuMemsetD2D##bits##Async, _ptsz,                                                            \
      (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, CUstream stream),  \
      fill, stream, dst, pitch, bits / 8, value, width, height, false)

MEMSET(8, unsigned char)
MEMSET(16, unsigned short)
MEMSET(32, unsigned)
// NOLINTEND(bugprone-macro-parentheses)
