// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/kernel_params.h"

#include <algorithm>
#include <cstring>

namespace gacer::simdriver {
namespace {

// END is NULL, so the list always stops at the first NULL key.
CUresult pack_buffer(const KernelDescription& kernel, void** extra, std::vector<uint8_t>& out) {
  const void* buffer = nullptr;
  const size_t* bytes = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = static_cast<const size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (bytes == nullptr || (buffer == nullptr && *bytes > 0)) return CUDA_ERROR_INVALID_VALUE;
  // Callers may leave out padding behind the last parameter, never the parameter itself.
  uint32_t needed = 0;
  for (const ParamDescription& param : kernel.params)
    needed = std::max(needed, param.offset + param.bytes);
  if (*bytes < needed) return CUDA_ERROR_INVALID_VALUE;
  out.assign(kernel.param_bytes, 0);
  if (!out.empty()) memcpy(out.data(), buffer, std::min<size_t>(*bytes, out.size()));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult pack_params(const KernelDescription& kernel, void** pointers, void** extra,
                     std::vector<uint8_t>& out) {
  if (extra != nullptr)
    return pointers != nullptr ? CUDA_ERROR_INVALID_VALUE : pack_buffer(kernel, extra, out);
  out.assign(kernel.param_bytes, 0);
  if (kernel.params.empty()) return CUDA_SUCCESS;
  if (pointers == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (pointers[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    memcpy(out.data() + kernel.params[i].offset, pointers[i], kernel.params[i].bytes);
  }
  return CUDA_SUCCESS;
}

std::vector<void*> param_pointers(const KernelDescription& kernel, std::span<uint8_t> packed) {
  std::vector<void*> pointers;
  for (const ParamDescription& param : kernel.params)
    pointers.push_back(packed.data() + param.offset);
  return pointers;
}

}  // namespace gacer::simdriver
