// SPDX-License-Identifier: Apache-2.0
// cuLaunch*
#include "runtime/simdevice/driver/launch.h"

#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/event.h"
#include "runtime/simdevice/driver/kernel_params.h"
#include "runtime/simdevice/driver/submit.h"

namespace gacer::simdriver {
namespace {

constexpr int kGreatestPriority = -5;

CUresult submit_kernel(CUstream stream_handle, KernelWork work) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(stream_handle, stream));
  if (work.function->context_id != stream->context_id) return CUDA_ERROR_INVALID_HANDLE;
  return submit(stream, std::move(work));
}

CUresult launch(CUstream stream, CUfunction function, const unsigned (&grid)[3],
                const unsigned (&block)[3], unsigned smem, void** params, void** extra) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  KernelWork work;
  SIM_TRY(make_kernel_work(function, grid, block, smem, params, extra, work));
  return submit_kernel(stream, std::move(work));
}

CUresult launch_cooperative(CUstream stream, CUfunction function, const unsigned (&grid)[3],
                            const unsigned (&block)[3], unsigned smem, void** params) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  KernelWork work;
  SIM_TRY(make_kernel_work(function, grid, block, smem, params, nullptr, work));
  work.cooperative = true;
  SIM_TRY(check_kernel_work(work));
  return submit_kernel(stream, std::move(work));
}

CUresult launch_ex(CUstream stream, const CUlaunchConfig& config, CUfunction function,
                   void** params, void** extra) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  KernelWork work;
  SIM_TRY(make_kernel_work(function, {config.gridDimX, config.gridDimY, config.gridDimZ},
                           {config.blockDimX, config.blockDimY, config.blockDimZ},
                           config.sharedMemBytes, params, extra, work));
  if (config.numAttrs > 0 && config.attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config.numAttrs; ++i)
    SIM_TRY(apply_attribute(config.attrs[i].id, config.attrs[i].value, work));
  SIM_TRY(check_kernel_work(work));
  return submit_kernel(stream, std::move(work));
}

}  // namespace

CUresult check_kernel_work(const KernelWork& work) {
  const uint32_t max_smem =
      work.function->settings->max_dynamic_smem_bytes.load(std::memory_order_relaxed);
  return check_launch(Driver::get().spec(), work.function->info, max_smem, work);
}

CUresult make_kernel_work(CUfunction handle, const unsigned (&grid)[3], const unsigned (&block)[3],
                          unsigned smem, void** params, void** extra, KernelWork& out) {
  SIM_TRY(resolve_function(handle, out.function));
  out.cluster = out.function->info.cluster;
  if (out.function->info.prints) Driver::get().link().print().expect(Driver::get().link());
  out.grid = {grid[0], grid[1], grid[2]};
  out.block = {block[0], block[1], block[2]};
  out.dynamic_smem_bytes = smem;
  SIM_TRY(check_kernel_work(out));
  return pack_params(out.function->info, params, extra, out.params);
}

CUresult apply_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue& value,
                         KernelWork& work) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      if (value.priority > 0 || value.priority < kGreatestPriority) return CUDA_ERROR_INVALID_VALUE;
      work.priority = value.priority;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      work.cooperative = value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      work.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
      return CUDA_SUCCESS;
    // Hints: results and the model's timing are the same without them.
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

#define LAUNCH_PARAMS                                                                        \
  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
   unsigned block_y, unsigned block_z, unsigned smem, CUstream stream, void** params,        \
   void** extra)
#define COOPERATIVE_PARAMS                                                                   \
  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
   unsigned block_y, unsigned block_z, unsigned smem, CUstream stream, void** params)
#define GRID \
  { grid_x, grid_y, grid_z }
#define BLOCK \
  { block_x, block_y, block_z }

CUresult cuLaunchKernel LAUNCH_PARAMS {
  return launch(stream, function, GRID, BLOCK, smem, params, extra);
}
CUresult cuLaunchKernel_ptsz LAUNCH_PARAMS {
  return launch(per_thread(stream), function, GRID, BLOCK, smem, params, extra);
}
CUresult cuLaunchCooperativeKernel COOPERATIVE_PARAMS {
  return launch_cooperative(stream, function, GRID, BLOCK, smem, params);
}
CUresult cuLaunchCooperativeKernel_ptsz COOPERATIVE_PARAMS {
  return launch_cooperative(per_thread(stream), function, GRID, BLOCK, smem, params);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                          void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_ex(config->hStream, *config, function, params, extra);
}
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** params,
                               void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_ex(per_thread(config->hStream), *config, function, params, extra);
}
