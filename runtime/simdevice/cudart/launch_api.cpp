// SPDX-License-Identifier: Apache-2.0
// Launches.
#include <atomic>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/launch.h"
#include "runtime/simdevice/cudart/registry.h"
#include "runtime/simdevice/cudart/stub.h"
#include "runtime_impl.h"

#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

namespace gacer::cudart {
namespace {

std::atomic<cudaError_t> kernel_failure{cudaErrorInvalidDeviceFunction};

int attribute(CUdevice_attribute which) {
  int value = 0;
  (void)legacy_driver().cuDeviceGetAttribute(&value, which, current_device());
  return value;
}

bool within(unsigned value, CUdevice_attribute limit) {
  return value > 0 && value <= static_cast<unsigned>(attribute(limit));
}

bool shape_fits(dim3 grid, dim3 block) {
  return within(grid.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
         within(grid.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
         within(grid.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) &&
         within(block.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
         within(block.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) &&
         within(block.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) &&
         within(block.x * block.y * block.z, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

Outcome launch(const Driver& driver, CUfunction function, dim3 grid, dim3 block, void** args,
               size_t shared_bytes, cudaStream_t stream) {
  const CUresult result =
      driver.cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                            static_cast<unsigned>(shared_bytes), stream, args, nullptr);
  return launch_outcome(result, grid, block);
}

template <Streams streams>
cudaError_t launch_handle(const ApiInfo& info, cudaKernel_t kernel, dim3 grid, dim3 block,
                          void** args, size_t shared_bytes, cudaStream_t stream) {
  const auto body = [&](const Driver& driver) -> Outcome {
    // Relaxed: a plain word, nothing else is published by it.
    if (kernel == nullptr) return kernel_failure.load(std::memory_order_relaxed);
    return launch(driver, reinterpret_cast<CUfunction>(kernel), grid, block, args, shared_bytes,
                  stream);
  };
  // As cudaLaunchKernel's; CUPTI's header has no structure of this function's own.
  const auto params = [&] {
    return cudaLaunchKernel_v7000_params{kernel, grid, block, args, shared_bytes, stream};
  };
  return api_call<Need::kContext, streams>(info, params, body);
}

}  // namespace

void note_kernel_failure(cudaError_t error) {
  kernel_failure.store(error, std::memory_order_relaxed);
}

Outcome launch_outcome(CUresult result, dim3 grid, dim3 block) {
  if (result == CUDA_ERROR_INVALID_VALUE && !shape_fits(grid, block))
    return cudaErrorInvalidConfiguration;
  return result;
}

CUlaunchConfig driver_config(const cudaLaunchConfig_t& config) {
  CUlaunchConfig out{};
  out.gridDimX = config.gridDim.x;
  out.gridDimY = config.gridDim.y;
  out.gridDimZ = config.gridDim.z;
  out.blockDimX = config.blockDim.x;
  out.blockDimY = config.blockDim.y;
  out.blockDimZ = config.blockDim.z;
  out.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
  out.hStream = config.stream;
  out.attrs = driver_attributes(config.attrs);
  out.numAttrs = config.numAttrs;
  return out;
}

namespace impl {

Outcome cudaLaunchKernel(const Driver& driver, const void* func, dim3 gridDim, dim3 blockDim,
                         void** args, size_t sharedMem, cudaStream_t stream) {
  CUfunction function = nullptr;
  RT_TRY(find_function(func, function));
  return launch(driver, function, gridDim, blockDim, args, sharedMem, stream);
}

Outcome cudaLaunchKernelExC(const Driver& driver, const cudaLaunchConfig_t* config,
                            const void* func, void** args) {
  if (config == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  RT_TRY(find_function(func, function));
  const CUlaunchConfig driver_launch = driver_config(*config);
  return launch_outcome(driver.cuLaunchKernelEx(&driver_launch, function, args, nullptr),
                        config->gridDim, config->blockDim);
}

Outcome cudaLaunchCooperativeKernel(const Driver& driver, const void* func, dim3 gridDim,
                                    dim3 blockDim, void** args, size_t sharedMem,
                                    cudaStream_t stream) {
  CUfunction function = nullptr;
  RT_TRY(find_function(func, function));
  return launch_outcome(driver.cuLaunchCooperativeKernel(
                            function, gridDim.x, gridDim.y, gridDim.z, blockDim.x, blockDim.y,
                            blockDim.z, static_cast<unsigned>(sharedMem), stream, args),
                        gridDim, blockDim);
}

Outcome cudaLaunchHostFunc(const Driver& driver, cudaStream_t stream, cudaHostFn_t fn,
                           void* userData) {
  return driver.cuLaunchHostFunc(stream, fn, userData);
}

}  // namespace impl
}  // namespace gacer::cudart

using namespace gacer::cudart;

GACER_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                            size_t shared_bytes, cudaStream_t stream) {
  static constexpr ApiInfo kInfo{CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000,
                                 "__cudaLaunchKernel"};
  return launch_handle<Streams::kLegacy>(kInfo, kernel, grid, block, args, shared_bytes, stream);
}
GACER_ALSO_12(__cudaLaunchKernel)

GACER_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                 void** args, size_t shared_bytes,
                                                 cudaStream_t stream) {
  static constexpr ApiInfo kInfo{CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000,
                                 "__cudaLaunchKernel_ptsz"};
  return launch_handle<Streams::kPerThread>(kInfo, kernel, grid, block, args, shared_bytes, stream);
}
GACER_ALSO_12(__cudaLaunchKernel_ptsz)
