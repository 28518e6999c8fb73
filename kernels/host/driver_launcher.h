// SPDX-License-Identifier: Apache-2.0
// Launches through the CUDA driver API into one stream. A kernel's module is loaded on its first
// use, so the first run of a sequence must not be captured. Not thread-safe.
#pragma once

#include <cuda.h>

#include <array>
#include <map>
#include <string_view>

#include "kernels/host/cuda_status.h"
#include "kernels/host/launcher.h"

namespace gacer::kernels {

class DriverLauncher final : public Launcher {
 public:
  // A context must be current; `status` must outlive this object.
  DriverLauncher(CUstream stream, CudaStatus& status) : stream_(stream), status_(status) {}
  ~DriverLauncher() override;
  DriverLauncher(const DriverLauncher&) = delete;
  DriverLauncher& operator=(const DriverLauncher&) = delete;

  // Does nothing once `status` holds an error.
  void launch(KernelId kernel, GridSize grid, unsigned shared_bytes, void** arguments) override;

 private:
  CUfunction function(KernelId kernel);
  CUmodule module(const char* name);

  CUstream stream_;
  CudaStatus& status_;
  std::map<std::string_view, CUmodule> modules_;
  std::array<CUfunction, kKernelCount> functions_{};
};

}  // namespace gacer::kernels
