// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_overhead.h"

#include <string>

#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;

class MemoryOverheadTest : public test::MemoryFixture {
 protected:
  uint64_t overhead() { return shim().memory.overhead_bytes(0); }
  CUcontext make_context() {
    CUcontext context = nullptr;
    EXPECT_EQ(gacer_hook_cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    return context;
  }
  // 100 SMs of 2048 threads with 1 KiB each, and the fixed parts.
  static constexpr uint64_t kContext = 200 * kMiB + 137 * kMiB;
};

TEST_F(MemoryOverheadTest, MEM_04_contexts_and_modules_are_estimated_shown_and_counted) {
  fake_memory().mps = false;
  limit(1024 * kMiB);
  const CUcontext context = make_context();
  EXPECT_EQ(overhead(), kContext);
  CUmodule module = nullptr;
  const std::string image(4 * kMiB, ' ');
  EXPECT_EQ(gacer_hook_cuModuleLoadData(&module, image.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(overhead(), kContext + 4 * kMiB);
  size_t free_bytes = 0;
  EXPECT_EQ(gacer_hook_cuMemGetInfo_v2(&free_bytes, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, 1024 * kMiB - overhead());
  CUdeviceptr pointer = 0;
  EXPECT_EQ(alloc(pointer, free_bytes + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc(pointer, free_bytes), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(overhead(), kContext);
  EXPECT_EQ(gacer_hook_cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_EQ(overhead(), 0u);
}

TEST_F(MemoryOverheadTest, MEM_04_overhead_that_alone_exceeds_the_limit_is_only_shown) {
  fake_memory().mps = false;
  limit(256 * kMiB);
  make_context();
  EXPECT_EQ(overhead(), kContext);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(alloc(pointer, 256 * kMiB), CUDA_SUCCESS);
}

TEST_F(MemoryOverheadTest, MEM_04_under_mps_a_context_is_the_servers) {
  make_context();
  EXPECT_EQ(overhead(), 0u);
}

TEST_F(MemoryOverheadTest, given_a_primary_context_retained_twice_then_it_counts_once) {
  fake_memory().mps = false;
  CUcontext context = nullptr;
  gacer_hook_cuDevicePrimaryCtxRetain(&context, 0);
  gacer_hook_cuDevicePrimaryCtxRetain(&context, 0);
  EXPECT_EQ(overhead(), kContext);
  gacer_hook_cuDevicePrimaryCtxReset_v2(0);
  EXPECT_EQ(overhead(), 0u);
}

TEST_F(MemoryOverheadTest, given_a_context_that_goes_then_its_modules_go_with_it) {
  fake_memory().mps = true;
  CUmodule module = nullptr;
  gacer_hook_cuModuleLoadData(&module, ".version 8.0");
  EXPECT_EQ(overhead(), 12u);
  CUcontext context = nullptr;
  gacer_hook_cuDevicePrimaryCtxRetain(&context, 0);
  gacer_hook_cuDevicePrimaryCtxReset_v2(0);
  EXPECT_EQ(overhead(), 0u);
}

}  // namespace
}  // namespace gacer::interpose
