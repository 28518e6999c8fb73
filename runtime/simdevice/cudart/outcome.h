// SPDX-License-Identifier: Apache-2.0
// What a function of the runtime ends with: an error of either interface, held as the runtime's.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace gacer::cudart {

// The runtime's code of a driver result. Codes have the same number in both (driver_types.h) but
// for the rows of errors.def; a code that the runtime does not have is cudaErrorUnknown.
cudaError_t to_runtime_error(CUresult result);

struct Outcome {
  // Implicit by intent: functions return whichever of the two codes they have.
  constexpr Outcome(cudaError_t code) : error(code) {}
  Outcome(CUresult result)
      : error(result == CUDA_SUCCESS ? cudaSuccess : to_runtime_error(result)) {}
  constexpr bool failed() const { return error != cudaSuccess; }
  cudaError_t error;
};

}  // namespace gacer::cudart

// Returns from the caller when `expression` (cudaError_t, CUresult or Outcome) is an error.
#define RT_TRY(expression)                                                             \
  do {                                                                                 \
    if (const ::gacer::cudart::Outcome rt_outcome = (expression); rt_outcome.failed()) \
      return rt_outcome;                                                               \
  } while (false)
