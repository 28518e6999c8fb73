// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks wait for each other, print and allocate: kernels of tests/unit/exec. Run on
// a device with clusters (TOGETHER_DEVICE=H100) and on one without.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// The device of the run: the fixture's own choice is for one without clusters.
class DeviceOfTheRun : public testing::Environment {
 public:
  void SetUp() override {
    if (const char* device = getenv("TOGETHER_DEVICE")) setenv("SIMGPU_DEVICE", device, 1);
  }
};
testing::Environment* const kDeviceOfTheRun = testing::AddGlobalTestEnvironment(new DeviceOfTheRun);

class TogetherTest : public DeviceTest {
 protected:
  CUfunction kernel(const std::string& file, const char* name) {
    std::ifstream stream(std::string(TOGETHER_PTX) + "/" + file + ".ptx");
    std::stringstream text;
    text << stream.rdbuf();
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, text.str().c_str()), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
    return function;
  }
  int attribute(CUdevice_attribute which) {
    int value = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&value, which, 0), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(TogetherTest, ACooperativeLaunchSynchronisesTheGrid) {
  const unsigned blocks = 60, threads = 64;
  CUdeviceptr values = allocate_ints(std::vector<int>(blocks * threads, 1));
  int rounds = 4;
  void* params[] = {&values, &rounds};
  CU_OK(cuLaunchCooperativeKernel(kernel("together", "grid_rounds"), blocks, 1, 1, threads, 1, 1, 0,
                                  nullptr, params));
  CU_OK(cuCtxSynchronize());
  EXPECT_THAT(read_ints(values, blocks * threads), Each(31));
}

TEST_F(TogetherTest, ACooperativeGridThatDoesNotFitIsRefused) {
  CUfunction function = kernel("together", "grid_rounds");
  int per_sm = 0;
  CU_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, function, 256, 0));
  const auto most =
      static_cast<unsigned>(per_sm * attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  CUdeviceptr values = allocate_ints(std::vector<int>((most + 1) * 256, 1));
  int rounds = 1;
  void* params[] = {&values, &rounds};
  CU_IS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        cuLaunchCooperativeKernel(function, most + 1, 1, 1, 256, 1, 1, 0, nullptr, params));
  CU_OK(cuLaunchCooperativeKernel(function, most, 1, 1, 256, 1, 1, 0, nullptr, params));
  CU_OK(cuCtxSynchronize());
  EXPECT_THAT(read_ints(values, most * 256), Each(3));
}

TEST_F(TogetherTest, BlocksWaitForEarlierOnes) {
  const unsigned blocks = 300, threads = 128, n = blocks * threads;
  std::vector<int> in(n), sums(n);
  std::iota(in.begin(), in.end(), 1);
  std::partial_sum(in.begin(), in.end(), sums.begin());
  CUdeviceptr input = allocate_ints(in), output = allocate_ints(std::vector<int>(n)),
              flags = allocate_ints(std::vector<int>(blocks)),
              partial = allocate_ints(std::vector<int>(blocks));
  void* params[] = {&input, &output, &flags, &partial};
  CU_OK(cuLaunchKernel(kernel("together", "chained_scan"), blocks, 1, 1, threads, 1, 1, 0, nullptr,
                       params, nullptr));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(output, n), sums);
}

TEST_F(TogetherTest, WhatKernelsPrintAppearsWhenTheProgramSynchronises) {
  const char name[] = "device";
  CUdeviceptr text = 0;
  CU_OK(cuMemAlloc(&text, sizeof name));
  CU_OK(cuMemcpyHtoD(text, name, sizeof name));
  int value = 7;
  void* params[] = {&text, &value};
  CUfunction function = kernel("async", "prints");
  testing::internal::CaptureStdout();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr),
              CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string line = "device|    7|ab    |    3.14|z|ff|-5|44|%|";
  EXPECT_THAT(out, HasSubstr(line));
  EXPECT_NE(out.find(line), out.rfind(line)) << "printed twice";
}

TEST_F(TogetherTest, TheHeapOfKernelsHasTheSizeThatWasAskedFor) {
  CU_OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 256));
  CUdeviceptr heads = 0;
  CU_OK(cuMemAlloc(&heads, 64 * 8));
  int count = 100;
  CUdeviceptr sums = allocate_ints(std::vector<int>(64));
  void* build[] = {&heads, &count};
  void* sum[] = {&heads, &sums};
  CU_OK(
      cuLaunchKernel(kernel("async", "build_lists"), 1, 1, 1, 1, 1, 1, 0, nullptr, build, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 4096));
  CU_OK(cuLaunchKernel(kernel("async", "sum_lists"), 1, 1, 1, 1, 1, 1, 0, nullptr, sum, nullptr));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(sums, 1)[0], 15 * 16 / 2) << "16 nodes of 16 bytes";
}

TEST_F(TogetherTest, ClustersWhereTheDeviceHasThem) {
  const bool has_clusters = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9;
  CUlaunchAttribute dimension{};
  dimension.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  dimension.value.clusterDim = {3, 2, 1};
  CUlaunchConfig config{};
  config.gridDimX = 6, config.gridDimY = 4, config.gridDimZ = 1;
  config.blockDimX = 32, config.blockDimY = 1, config.blockDimZ = 1;
  config.attrs = &dimension;
  config.numAttrs = 1;
  CUdeviceptr out = allocate_ints(std::vector<int>(24 * 6));
  void* params[] = {&out};
  if (!has_clusters) {
    CU_IS(CUDA_ERROR_NOT_SUPPORTED,
          cuLaunchKernelEx(&config, kernel("together", "half_syncs"), params, nullptr));
    return;
  }
  CUfunction function = kernel("cluster", "cluster_ids");
  CU_OK(cuLaunchKernelEx(&config, function, params, nullptr));
  CU_OK(cuCtxSynchronize());
  const auto rows = read_ints(out, 24 * 6);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) EXPECT_EQ(rows[(y * 6 + x) * 6], x % 3 + 3 * (y % 2));
  dimension.value.clusterDim = {4, 2, 1};
  CU_IS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernelEx(&config, function, params, nullptr));
}

TEST_F(TogetherTest, ClustersOfAKernelThatDemandsThem) {
  if (attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < 9) return;
  const int n = 512;
  std::vector<int> in(n), expected(256);
  for (int i = 0; i < n; ++i) ++expected[in[i] = i * 7 % 256];
  CUdeviceptr from = allocate_ints(in), to = allocate_ints(std::vector<int>(256));
  int count = n;
  void* params[] = {&from, &to, &count};
  CU_OK(cuLaunchKernel(kernel("cluster", "cluster_histogram"), 4, 1, 1, 64, 1, 1, 0, nullptr,
                       params, nullptr));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(to, 256), expected);
}

}  // namespace
}  // namespace gacer::simdriver
