// SPDX-License-Identifier: Apache-2.0
// cuOccupancy*
#include <algorithm>
#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"
#include "runtime/simdevice/driver/occupancy.h"

using namespace gacer::simdriver;

namespace {

constexpr int kWarp = 32;

CUresult find_function(CUfunction handle, std::shared_ptr<Function>& out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  return resolve_function(handle, out);
}

uint32_t resident(const Function& function, int threads, size_t dynamic_smem) {
  const uint64_t smem = function.info.static_smem_bytes + dynamic_smem;
  if (smem > Driver::get().spec().smem_per_block_optin_bytes) return 0;
  if (static_cast<uint32_t>(threads) > function.info.max_threads) return 0;
  return blocks_per_sm(Driver::get().spec(),
                       {static_cast<uint32_t>(threads), function.info.regs, smem});
}

CUresult max_active(int* out, CUfunction handle, int threads, size_t dynamic_smem) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (out == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<int>(resident(*function, threads, dynamic_smem));
  return CUDA_SUCCESS;
}

struct BestBlock {
  int threads = 0;
  uint32_t blocks = 0;
};

// The largest block size among those with most resident threads.
BestBlock best_block(const Function& function, CUoccupancyB2DSize smem_of, size_t smem, int limit) {
  BestBlock best;
  for (int threads = limit / kWarp * kWarp; threads > 0; threads -= kWarp) {
    const uint32_t blocks =
        resident(function, threads, smem_of != nullptr ? smem_of(threads) : smem);
    if (blocks * static_cast<uint32_t>(threads) > best.blocks * static_cast<uint32_t>(best.threads))
      best = {threads, blocks};
  }
  return best;
}

CUresult max_potential(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize smem_of,
                       size_t smem, int limit) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (grid == nullptr || block == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
  const int most = static_cast<int>(function->info.max_threads);
  const BestBlock best =
      best_block(*function, smem_of, smem, limit == 0 ? most : std::min(limit, most));
  if (best.threads == 0) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  *block = best.threads;
  *grid = static_cast<int>(best.blocks * Driver::get().spec().sm_count);
  return CUDA_SUCCESS;
}

// A cluster stays in one graphics processing cluster. How many SMs these have is not documented;
// 16 is what the 132 SMs of an H100 in 8 of them come to, with 4 over.
constexpr uint32_t kSmsOfAGpc = 16;
constexpr uint32_t kPortableCluster = 8;
constexpr uint32_t kLargestCluster = 16;

uint32_t cluster_blocks(const CUlaunchConfig& config, const Function& function) {
  const auto& required = function.info.cluster;
  if (required[0] != 0) return required[0] * required[1] * required[2];
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& size = config.attrs[i].value.clusterDim;
      return size.x * size.y * size.z;
    }
  return 0;
}

CUresult blocks_for_clusters(CUfunction handle, const CUlaunchConfig* config,
                             std::shared_ptr<Function>& function, uint32_t& blocks) {
  SIM_TRY(find_function(handle, function));
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  if (Driver::get().spec().compute_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
  const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
  if (threads == 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  blocks = resident(*function, static_cast<int>(threads), config->sharedMemBytes);
  return CUDA_SUCCESS;
}

constexpr unsigned kFlags = CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE;

}  // namespace

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, CUfunction function, int threads,
                                                     size_t smem) {
  return max_active(out, function, threads, smem);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, CUfunction function,
                                                              int threads, size_t smem,
                                                              unsigned flags) {
  return (flags & ~kFlags) != 0 ? CUDA_ERROR_INVALID_VALUE
                                : max_active(out, function, threads, smem);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize smem_of, size_t smem, int limit) {
  return max_potential(grid, block, function, smem_of, smem, limit);
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize smem_of, size_t smem,
                                                   int limit, unsigned flags) {
  if ((flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  return max_potential(grid, block, function, smem_of, smem, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* out, CUfunction handle, int blocks,
                                                 int threads) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (out == nullptr || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  const bool fits = resident(*function, threads, 0) >= static_cast<uint32_t>(blocks);
  *out = fits ? available_smem_bytes(Driver::get().spec(), static_cast<uint32_t>(blocks),
                                     function->info.static_smem_bytes)
              : 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* out, CUfunction handle,
                                            const CUlaunchConfig* config) {
  std::shared_ptr<Function> function;
  uint32_t blocks = 0;
  SIM_TRY(blocks_for_clusters(handle, config, function, blocks));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& required = function->info.cluster;
  const bool large = function->settings->non_portable_cluster.load(std::memory_order_relaxed);
  const uint32_t most = std::min(large ? kLargestCluster : kPortableCluster, kSmsOfAGpc * blocks);
  *out = static_cast<int>(required[0] != 0 ? required[0] * required[1] * required[2] : most);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* out, CUfunction handle, const CUlaunchConfig* config) {
  std::shared_ptr<Function> function;
  uint32_t blocks = 0;
  SIM_TRY(blocks_for_clusters(handle, config, function, blocks));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t cluster = cluster_blocks(*config, *function);
  const bool large = function->settings->non_portable_cluster.load(std::memory_order_relaxed);
  if (cluster == 0 || cluster > (large ? kLargestCluster : kPortableCluster))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const uint32_t sms = Driver::get().spec().sm_count;
  *out = static_cast<int>(sms / kSmsOfAGpc * (kSmsOfAGpc * blocks / cluster) +
                          sms % kSmsOfAGpc * blocks / cluster);
  return CUDA_SUCCESS;
}
