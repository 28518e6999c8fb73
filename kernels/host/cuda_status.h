// SPDX-License-Identifier: Apache-2.0
// Keeps the first CUDA error of a run, as one line: "cuMemAlloc(weights): CUDA_ERROR_OUT_OF_MEMORY:
// out of memory". Callers may go on after a failure and look once at the end. Not thread-safe.
#pragma once

#include <cuda.h>

#include <string>

namespace gacer::kernels {

class CudaStatus {
 public:
  bool ok() const { return message_.empty(); }
  const std::string& message() const { return message_; }

  // True when `result` is success. `detail` names the object, or is empty.
  bool check(CUresult result, const char* call, const char* detail = "");

 private:
  std::string message_;
};

}  // namespace gacer::kernels
