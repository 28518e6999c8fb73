// SPDX-License-Identifier: Apache-2.0
// A device's primary context, one stream, and the memory taken from them; all given back at the
// end. Not thread-safe; use it on the thread that opened it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/host/cuda_status.h"
#include "kernels/host/stream_priority.h"

namespace gacer::kernels {

class CudaSession {
 public:
  CudaSession() = default;
  ~CudaSession();
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;

  // Each returns false (or a null pointer) on failure; status() says why.
  bool open(int ordinal, StreamPriority priority);
  CUdeviceptr allocate(std::size_t bytes, const char* what);
  void* allocate_pinned(std::size_t bytes, const char* what);

  CUstream stream() const { return stream_; }
  const std::string& device_name() const { return device_name_; }
  CudaStatus& status() { return status_; }

 private:
  bool open_device(int ordinal);
  bool open_stream(StreamPriority priority);

  CudaStatus status_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::string device_name_;
  std::vector<CUdeviceptr> allocations_;
  std::vector<void*> pinned_;
};

// A device address as the pointer type of argument blocks.
inline float* as_floats(CUdeviceptr address) {
  return reinterpret_cast<float*>(address);
}

}  // namespace gacer::kernels
