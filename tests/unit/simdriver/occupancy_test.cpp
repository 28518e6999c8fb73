// SPDX-License-Identifier: Apache-2.0
// Against NVIDIA's own calculator, cuda_occupancy.h of the toolkit.
#include "runtime/simdevice/driver/occupancy.h"

#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include "runtime/simdevice/device_models.h"

namespace gacer::simdriver {
namespace {

cudaOccDeviceProp reference_device(const DeviceSpec& spec) {
  cudaOccDeviceProp device;
  device.computeMajor = spec.compute_major;
  device.computeMinor = spec.compute_minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = static_cast<int>(spec.threads_per_sm);
  device.regsPerBlock = static_cast<int>(spec.regs_per_sm);
  device.regsPerMultiprocessor = static_cast<int>(spec.regs_per_sm);
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerMultiprocessor = spec.smem_per_sm_bytes;
  device.numSms = static_cast<int>(spec.sm_count);
  device.sharedMemPerBlockOptin = spec.smem_per_block_optin_bytes;
  device.reservedSharedMemPerBlock = spec.smem_reserved_per_block_bytes;
  return device;
}

int reference_blocks(const DeviceSpec& spec, const BlockNeeds& needs) {
  const cudaOccDeviceProp device = reference_device(spec);
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = static_cast<int>(needs.regs_per_thread);
  kernel.sharedSizeBytes = 0;
  kernel.maxDynamicSharedSizeBytes = spec.smem_per_block_optin_bytes;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result;
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &kernel, &state, static_cast<int>(needs.threads), needs.smem_bytes);
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

class OccupancyOf : public testing::TestWithParam<const char*> {};

TEST_P(OccupancyOf, AgreesWithTheToolkitsCalculator) {
  const DeviceSpec& spec = simdevice::find_device_model(GetParam())->spec;
  int compared = 0;
  for (const uint32_t threads : {32U, 64U, 96U, 128U, 192U, 256U, 384U, 512U, 768U, 1024U})
    for (const uint32_t regs : {16U, 24U, 32U, 40U, 48U, 64U, 96U, 128U, 168U, 255U})
      for (const uint64_t smem :
           {0ULL, 1ULL, 1024ULL, 8192ULL, 16384ULL, 33000ULL, 49152ULL, 65536ULL, 96000ULL}) {
        const BlockNeeds needs{threads, regs, smem};
        const int expected = reference_blocks(spec, needs);
        if (expected < 0) continue;
        ++compared;
        EXPECT_EQ(static_cast<int>(blocks_per_sm(spec, needs)), expected)
            << threads << " threads, " << regs << " registers, " << smem << " bytes";
      }
  EXPECT_GT(compared, 600);
}
INSTANTIATE_TEST_SUITE_P(Devices, OccupancyOf,
                         testing::Values("V100", "A100", "H100", "L4", "ORIN"));

TEST(Occupancy, AvailableSharedMemoryLeavesRoomForThatManyBlocks) {
  const DeviceSpec& spec = simdevice::find_device_model("A100")->spec;
  for (const uint32_t blocks : {1U, 2U, 3U, 4U, 8U, 16U}) {
    const uint64_t bytes = available_smem_bytes(spec, blocks, 1000);
    EXPECT_GE(blocks_per_sm(spec, {64, 16, 1000 + bytes}), blocks);
    EXPECT_TRUE(bytes + 1000 == spec.smem_per_block_optin_bytes ||
                blocks_per_sm(spec, {64, 16, 1000 + bytes + spec.smem_alloc_granularity_bytes}) <
                    blocks);
  }
  EXPECT_EQ(available_smem_bytes(spec, 0, 0), 0U);
  EXPECT_EQ(available_smem_bytes(spec, 33, 0), 0U);
}

}  // namespace
}  // namespace gacer::simdriver
