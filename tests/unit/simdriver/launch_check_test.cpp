// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/device_models.h"
#include "runtime/simdevice/driver/launch.h"

namespace gacer::simdriver {
namespace {

constexpr uint32_t kDefaultSmem = 48 * 1024;

class LaunchCheck : public testing::Test {
 protected:
  CUresult check(uint32_t max_dynamic_smem = kDefaultSmem) const {
    return check_launch(spec, kernel, max_dynamic_smem, work);
  }
  const DeviceSpec& spec = simdevice::find_device_model("A100")->spec;
  KernelDescription kernel{"k", {}, 0, 32, 0, 0, 1024, false};
  KernelWork work;
};

TEST_F(LaunchCheck, AcceptsOrdinaryShapes) {
  work.grid = {2147483647, 65535, 65535};
  work.block = {1024, 1, 1};
  EXPECT_EQ(check(), CUDA_SUCCESS);
}

TEST_F(LaunchCheck, ZeroAndTooLargeDimensionsAreInvalid) {
  work.grid = {0, 1, 1};
  EXPECT_EQ(check(), CUDA_ERROR_INVALID_VALUE);
  work.grid = {1, 65536, 1};
  EXPECT_EQ(check(), CUDA_ERROR_INVALID_VALUE);
  work.grid = {1, 1, 1};
  work.block = {1025, 1, 1};
  EXPECT_EQ(check(), CUDA_ERROR_INVALID_VALUE);
  work.block = {1, 1, 65};
  EXPECT_EQ(check(), CUDA_ERROR_INVALID_VALUE);
  work.block = {64, 32, 1};
  EXPECT_EQ(check(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchCheck, MoreThreadsThanTheKernelAllowsAreOutOfResources) {
  kernel.max_threads = 256;
  work.block = {257, 1, 1};
  EXPECT_EQ(check(), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

TEST_F(LaunchCheck, SharedMemoryNeedsTheAttributeFirst) {
  work.dynamic_smem_bytes = kDefaultSmem;
  EXPECT_EQ(check(), CUDA_SUCCESS);
  work.dynamic_smem_bytes = kDefaultSmem + 1;
  EXPECT_EQ(check(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(check(100 * 1024), CUDA_SUCCESS);
}

TEST_F(LaunchCheck, StaticAndDynamicSharedMemoryCountTogether) {
  kernel.static_smem_bytes = 4096;
  work.dynamic_smem_bytes = kDefaultSmem - 4096;
  EXPECT_EQ(check(), CUDA_SUCCESS);
  work.dynamic_smem_bytes = kDefaultSmem - 4095;
  EXPECT_EQ(check(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchCheck, ACooperativeGridMustFitAtOnce) {
  work.cooperative = true;
  work.block = {1024, 1, 1};
  work.grid = {2 * spec.sm_count, 1, 1};
  EXPECT_EQ(check(), CUDA_SUCCESS);
  work.grid = {2 * spec.sm_count + 1, 1, 1};
  EXPECT_EQ(check(), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

}  // namespace
}  // namespace gacer::simdriver
