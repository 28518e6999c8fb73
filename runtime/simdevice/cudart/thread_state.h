// SPDX-License-Identifier: Apache-2.0
// What the runtime keeps for each thread: its device, its last error, pending launch
// configurations.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <vector>

namespace gacer::cudart {

// What <<<...>>> pushes and the kernel's host stub pops.
struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

struct ThreadState {
  int device = -1;              // of the last cudaSetDevice; -1: none yet
  CUcontext context = nullptr;  // in which the last call worked
  cudaError_t last_error = cudaSuccess;
  std::vector<CallConfiguration> configurations;
  std::vector<int> valid_devices;  // cudaSetValidDevices
};

ThreadState& thread_state();

// Keeps `error` for cudaGetLastError and returns it.
cudaError_t record_error(cudaError_t error);

// The last error. A corrupted context's error stays until cudaDeviceReset; any other is cleared.
cudaError_t take_last_error();

}  // namespace gacer::cudart
