// SPDX-License-Identifier: Apache-2.0
// A device of its own for one test program: main() sets SIMGPU_DIR to a new folder before the first
// driver call.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gacer::simdriver {

// Sets the environment for this process and its children; removed by leave_sim_folder.
void enter_sim_folder();
void leave_sim_folder();

const char* name_of(CUresult result);

// gtest assertions with the error's name.
#define CU_OK(call) ASSERT_EQ(CUDA_SUCCESS, call)
#define CU_IS(code, call) EXPECT_EQ(code, call)

extern const char* const
    kTestPtx;  // kernels: add_one(u64 data, u32 n), vector_add, spin, write_beyond, sum_smem

// A context, the test module and its functions.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  CUfunction function(const char* name);
  CUdeviceptr allocate_ints(const std::vector<int>& values);
  std::vector<int> read_ints(CUdeviceptr from, size_t count);
  // data[i] += 1 for i < n
  CUresult add_one(CUdeviceptr data, unsigned n, CUstream stream = nullptr);
  // Takes about `iterations` loop turns of one thread.
  CUresult spin(unsigned iterations, CUstream stream = nullptr);

  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

}  // namespace gacer::simdriver

inline void PrintTo(CUresult result, std::ostream* out) {
  *out << gacer::simdriver::name_of(result);
}
