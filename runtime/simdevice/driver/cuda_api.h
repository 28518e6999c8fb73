// SPDX-License-Identifier: Apache-2.0
// cuda.h with every versioned name spelled out (no cuMemAlloc -> cuMemAlloc_v2 macros), so that
// each definition is checked against its prototype, and with default visibility, so that the
// definitions are exported.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#pragma GCC visibility pop

// Functions that CUPTI numbers are defined and called here under another name; what is exported
// reports the call (reported.h).
// clang-format off
#include "sim_declare.h"
#include "sim_rename.h"
// clang-format on

#include <cstdint>

#include "runtime/simdevice/device_identity.h"

// Returns from the enclosing function unless `expression` is CUDA_SUCCESS.
#define SIM_TRY(expression)                                                                      \
  do {                                                                                           \
    if (const CUresult sim_status = (expression); sim_status != CUDA_SUCCESS) return sim_status; \
  } while (0)

namespace gacer::simdriver {

// The driver answers for CUDA 13.0; cuGetProcAddress refuses later versions.
inline constexpr int kDriverVersion = simdevice::kCudaDriverVersion;

inline CUstream special_stream(uintptr_t value) {
  return reinterpret_cast<CUstream>(value);
}
inline const CUstream kLegacyStream = special_stream(1);
inline const CUstream kPerThreadStream = special_stream(2);

// What the _ptds and _ptsz variants make of a NULL stream.
inline CUstream per_thread(CUstream stream) {
  return stream == nullptr ? kPerThreadStream : stream;
}

}  // namespace gacer::simdriver
