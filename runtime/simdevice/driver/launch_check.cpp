// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/launch.h"
#include "runtime/simdevice/driver/occupancy.h"

namespace gacer::simdriver {
namespace {

constexpr uint32_t kMaxGridYz = 65535;
constexpr uint32_t kMaxBlockZ = 64;
constexpr uint32_t kMostClusterBlocks = 16;

bool shape_is_valid(const KernelWork& work) {
  for (int axis = 0; axis < 3; ++axis)
    if (work.grid[axis] == 0 || work.block[axis] == 0) return false;
  return work.grid[0] <= 0x7fffffffU && work.grid[1] <= kMaxGridYz && work.grid[2] <= kMaxGridYz &&
         work.block[0] <= kMaxThreadsPerBlock && work.block[1] <= kMaxThreadsPerBlock &&
         work.block[2] <= kMaxBlockZ;
}

CUresult check_cooperative(const DeviceSpec& spec, const BlockNeeds& needs,
                           const KernelWork& work) {
  const uint64_t blocks = uint64_t{work.grid[0]} * work.grid[1] * work.grid[2];
  const uint64_t resident = uint64_t{blocks_per_sm(spec, needs)} * spec.sm_count;
  return blocks > resident ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

// Compute capability 9.0 introduced clusters; eight blocks are the portable limit, 16 the greatest
// (cudaFuncAttributeNonPortableClusterSizeAllowed is not asked for).
CUresult check_cluster(const DeviceSpec& spec, const KernelDescription& kernel,
                       const KernelWork& work) {
  const auto& cluster = work.cluster;
  if (cluster[0] == 0 && cluster[1] == 0 && cluster[2] == 0) return CUDA_SUCCESS;
  const uint64_t blocks = uint64_t{cluster[0]} * cluster[1] * cluster[2];
  if (blocks > 1 && spec.compute_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
  for (size_t i = 0; i < 3; ++i) {
    if (cluster[i] == 0 || cluster[i] > kMostClusterBlocks || work.grid[i] % cluster[i] != 0)
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (kernel.cluster[0] != 0 && kernel.cluster[i] != cluster[i])
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  return blocks > kMostClusterBlocks ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

}  // namespace

CUresult check_launch(const DeviceSpec& spec, const KernelDescription& kernel,
                      uint32_t max_dynamic_smem_bytes, const KernelWork& work) {
  if (!shape_is_valid(work)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t threads = uint64_t{work.block[0]} * work.block[1] * work.block[2];
  if (threads > kMaxThreadsPerBlock) return CUDA_ERROR_INVALID_VALUE;
  if (threads > kernel.max_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const uint64_t smem = uint64_t{work.dynamic_smem_bytes} + kernel.static_smem_bytes;
  if (work.dynamic_smem_bytes > max_dynamic_smem_bytes) return CUDA_ERROR_INVALID_VALUE;
  if (smem > kMaxDefaultSmemBytes && work.dynamic_smem_bytes > 0 &&
      max_dynamic_smem_bytes <= kMaxDefaultSmemBytes)
    return CUDA_ERROR_INVALID_VALUE;
  const BlockNeeds needs{static_cast<uint32_t>(threads), kernel.regs, smem};
  if (blocks_per_sm(spec, needs) == 0) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  SIM_TRY(check_cluster(spec, kernel, work));
  return work.cooperative ? check_cooperative(spec, needs, work) : CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
