// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;

class MemoryPoolsTest : public test::MemoryFixture {
 protected:
  CUmemoryPool make_pool(int type = CU_MEM_LOCATION_TYPE_DEVICE) {
    CUmemPoolProps properties{};
    properties.location = location(type, 0).location;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(gacer_hook_cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    return pool;
  }
  CUresult alloc_from(CUmemoryPool pool, CUdeviceptr& pointer, uint64_t bytes) {
    return gacer_hook_cuMemAllocFromPoolAsync(&pointer, bytes, pool, test::stream_number(2));
  }
  void synchronise() { gacer_hook_cuStreamSynchronize(test::stream_number(1)); }
  CUdeviceptr a_ = 0;
  CUdeviceptr b_ = 0;
};

TEST_F(MemoryPoolsTest, MEM_06_a_loop_of_pairs_never_ends_in_out_of_memory) {
  for (const uint64_t threshold : {uint64_t{0}, UINT64_MAX}) {
    CUmemoryPool pool = make_pool();
    cuuint64_t value = threshold;
    gacer_hook_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
    limit(64 * kMiB);
    for (int i = 0; i < 100'000; ++i) {
      ASSERT_EQ(alloc_from(pool, a_, 1 * kMiB + 512), CUDA_SUCCESS) << i;
      ASSERT_EQ(free_async(a_), CUDA_SUCCESS);
      if (i % 1000 != 0) continue;
      synchronise();
      ASSERT_EQ(charged(), in_use());
    }
    gacer_hook_cuMemPoolDestroy(pool);
    EXPECT_EQ(in_use(), 0u);
    EXPECT_EQ(charged(), 0u);
  }
}

TEST_F(MemoryPoolsTest, MEM_07_user_and_default_pools_are_charged_once_and_freed_anywhere) {
  limit(1024 * kMiB);
  CUmemoryPool one = make_pool();
  CUmemoryPool two = make_pool();
  CUdeviceptr c = 0;
  EXPECT_EQ(alloc_from(one, a_, 3 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(alloc_from(two, b_, 5 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(alloc_async(c, 7 * kMiB), CUDA_SUCCESS);
  expect_exact();
  EXPECT_EQ(charged(), (4 + 6 + 8) * kMiB);
  EXPECT_EQ(gacer_hook_cuMemPoolDestroy(one), CUDA_SUCCESS);  // with an allocation left
  expect_exact();
  EXPECT_EQ(gacer_hook_cuMemFreeAsync(a_, test::stream_number(9)), CUDA_SUCCESS);
  expect_exact();
  EXPECT_EQ(gacer_hook_cuMemFree_v2(b_), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(c), CUDA_SUCCESS);
  synchronise();
  EXPECT_EQ(gacer_hook_cuMemPoolDestroy(two), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(in_use(), 0u);
}

TEST_F(MemoryPoolsTest, MEM_07_imported_pools_and_pools_of_the_host_are_not_charged) {
  limit(4 * kMiB);
  CUmemoryPool imported = nullptr;
  EXPECT_EQ(gacer_hook_cuMemPoolImportFromShareableHandle(
                &imported, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemPoolImportPointer(&a_, imported, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(free_async(a_), CUDA_SUCCESS);
  EXPECT_EQ(alloc_from(make_pool(CU_MEM_LOCATION_TYPE_HOST), b_, 64 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(free_async(b_), CUDA_SUCCESS);
}

TEST_F(MemoryPoolsTest, MEM_27_growth_in_large_blocks_stays_within_the_quota) {
  fake_memory().pool_step = 32 * kMiB;
  limit(64 * kMiB);
  CUmemoryPool one = make_pool();
  CUmemoryPool two = make_pool();
  CUmemoryPool three = make_pool();
  EXPECT_EQ(alloc_from(one, a_, 12), CUDA_SUCCESS);
  EXPECT_EQ(alloc_from(two, b_, 12), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 64 * kMiB);
  CUdeviceptr c = 0;
  EXPECT_EQ(alloc_from(three, c, 12), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(in_use(), 64 * kMiB);
  EXPECT_EQ(alloc_from(one, c, 12), CUDA_SUCCESS);  // fits into what is reserved
  free_async(a_);
  free_async(c);
  EXPECT_EQ(gacer_hook_cuMemPoolTrimTo(one, 0), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 32 * kMiB);
  EXPECT_EQ(alloc_from(three, c, 12), CUDA_SUCCESS);
  expect_exact();
}

TEST_F(MemoryPoolsTest, MEM_27_unused_pool_memory_is_trimmed_before_a_refusal) {
  fake_memory().pool_step = 32 * kMiB;
  limit(64 * kMiB);
  CUmemoryPool one = make_pool();
  cuuint64_t keep = UINT64_MAX;
  gacer_hook_cuMemPoolSetAttribute(one, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
  EXPECT_EQ(alloc_from(one, a_, 40 * kMiB), CUDA_SUCCESS);
  free_async(a_);
  synchronise();
  EXPECT_EQ(charged(), 64 * kMiB);
  EXPECT_EQ(alloc(b_, 50 * kMiB), CUDA_SUCCESS);
  expect_exact();
}

TEST_F(MemoryPoolsTest, given_a_step_that_was_underestimated_then_the_allocation_is_undone) {
  fake_memory().pool_step = 32 * kMiB;
  limit(20 * kMiB);  // the usual step does not fit, the least one does
  EXPECT_EQ(alloc_async(a_, 12), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(a_, 0u);
  EXPECT_EQ(in_use(), 0u);
  expect_exact();
  const uint64_t calls = fake_memory().calls;
  EXPECT_EQ(alloc_async(a_, 12), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_LT(fake_memory().calls, calls + 10);
  EXPECT_EQ(in_use(), 0u);  // learnt: the driver was not asked again
}

TEST_F(MemoryPoolsTest, MEM_29_an_allocation_in_a_capture_is_not_charged) {
  limit(4 * kMiB);
  const CUstream stream = test::stream_number(3);
  gacer_hook_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  const uint64_t used = in_use();
  EXPECT_EQ(gacer_hook_cuMemAllocAsync(&a_, 64, stream), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(gacer_hook_cuMemFreeAsync(a_, stream), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(gacer_hook_cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_GE(in_use(), used);  // this driver does not capture; the shim asked it nothing more
}

TEST_F(MemoryPoolsTest, given_no_limit_then_the_reserve_is_counted_all_the_same) {
  EXPECT_EQ(alloc_async(a_, 3 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 4 * kMiB);
  free_async(a_);
  synchronise();
  EXPECT_EQ(charged(), 0u);
}

}  // namespace
}  // namespace gacer::interpose
