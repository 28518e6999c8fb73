// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_ledger.h"

#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake;

// Attached to a pretended daemon without a socket: its limit holds, requests get no answer.
class MemoryLedgerTest : public test::LaunchFixture {
 protected:
  void limit(uint64_t bytes) { segment().gate.memory_limit_bytes = bytes; }
  CUresult alloc(CUdeviceptr& pointer, size_t bytes) {
    return gacer_hook_cuMemAlloc_v2(&pointer, bytes);
  }
  uint64_t used() { return shim().memory.used_bytes(); }
  CUdeviceptr a_ = 0;
  CUdeviceptr b_ = 0;
};

TEST_F(MemoryLedgerTest, given_no_limit_then_memory_is_counted_and_never_refused) {
  EXPECT_EQ(alloc(a_, 1'000), CUDA_SUCCESS);
  EXPECT_EQ(alloc(b_, 1ULL << 50), CUDA_SUCCESS);
  EXPECT_EQ(progress().memory_bytes, 1'000 + (1ULL << 50));
  EXPECT_EQ(gacer_hook_cuMemFree_v2(b_), CUDA_SUCCESS);
  EXPECT_EQ(progress().memory_bytes, 1'000u);
}

TEST_F(MemoryLedgerTest,
       given_a_limit_when_it_is_reached_then_out_of_memory_and_the_driver_is_not_asked) {
  limit(1'000);
  EXPECT_EQ(alloc(a_, 600), CUDA_SUCCESS);
  const uint64_t handles = fake().next_handle;
  EXPECT_EQ(alloc(b_, 401), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(fake().next_handle, handles);
  EXPECT_EQ(alloc(b_, 400), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(a_), CUDA_SUCCESS);
  EXPECT_EQ(alloc(a_, 600), CUDA_SUCCESS);
}

TEST_F(MemoryLedgerTest, given_sizes_that_wrap_then_they_are_refused) {
  limit(1'000);
  EXPECT_EQ(alloc(a_, 600), CUDA_SUCCESS);
  EXPECT_EQ(alloc(b_, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(used(), 600u);
}

TEST_F(MemoryLedgerTest, given_an_allocation_that_the_driver_refuses_then_nothing_stays_charged) {
  limit(1'000);
  fake().alloc_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(alloc(a_, 600), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(used(), 0u);
}

TEST_F(MemoryLedgerTest, given_a_pitched_allocation_then_the_real_pitch_counts) {
  limit(512 * 10);
  size_t pitch = 0;
  EXPECT_EQ(gacer_hook_cuMemAllocPitch_v2(&a_, &pitch, 100, 10, 4), CUDA_SUCCESS);
  EXPECT_EQ(used(), 5'120u);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(a_), CUDA_SUCCESS);
  limit(512 * 10 - 1);
  EXPECT_EQ(gacer_hook_cuMemAllocPitch_v2(&a_, &pitch, 100, 10, 4), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(fake().frees.size(), 2u);  // what the driver had given was freed again
  EXPECT_EQ(used(), 0u);
}

TEST_F(MemoryLedgerTest, given_a_pointer_we_do_not_know_then_its_free_reaches_the_driver) {
  EXPECT_EQ(gacer_hook_cuMemFree_v2(0xabcdef), CUDA_SUCCESS);
  EXPECT_EQ(fake().frees.back(), 0xabcdefu);
}

TEST_F(MemoryLedgerTest, given_a_free_that_the_driver_refuses_then_the_memory_stays_charged) {
  alloc(a_, 600);
  fake().free_result = CUDA_ERROR_INVALID_CONTEXT;
  EXPECT_EQ(gacer_hook_cuMemFree_v2(a_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(used(), 600u);
}

TEST_F(MemoryLedgerTest, given_a_limit_then_queries_tell_its_story_and_null_pointers_are_fine) {
  limit(1'000);
  alloc(a_, 600);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  EXPECT_EQ(gacer_hook_cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, 400u);
  EXPECT_EQ(total_bytes, 1'000u);
  EXPECT_EQ(gacer_hook_cuMemGetInfo_v2(nullptr, &total_bytes), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemGetInfo_v2(&free_bytes, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuDeviceTotalMem_v2(&total_bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(total_bytes, 1'000u);
}

TEST_F(MemoryLedgerTest, given_a_limit_above_the_device_then_the_device_speaks) {
  limit(1ULL << 60);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  gacer_hook_cuMemGetInfo_v2(&free_bytes, &total_bytes);
  EXPECT_EQ(total_bytes, fake().device_bytes);
  EXPECT_EQ(free_bytes, fake().device_bytes / 2);
}

TEST_F(MemoryLedgerTest, given_the_daemon_has_gone_then_the_limit_last_heard_still_holds) {
  limit(1'000);
  EXPECT_EQ(alloc(a_, 600), CUDA_SUCCESS);
  shim().session.publish(nullptr);
  EXPECT_EQ(alloc(b_, 600), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc(b_, 300), CUDA_SUCCESS);
}

TEST_F(MemoryLedgerTest, given_never_a_daemon_then_the_environments_limit_holds) {
  shim().session.publish(nullptr);
  setenv("GACER_MEM", "1K", 1);
  shim().session.after_fork_in_child();  // reads the environment again
  shim().memory.reset();
  EXPECT_EQ(alloc(a_, 1'000), CUDA_SUCCESS);
  EXPECT_EQ(alloc(b_, 100), CUDA_ERROR_OUT_OF_MEMORY);
  unsetenv("GACER_MEM");
}

}  // namespace
}  // namespace gacer::interpose
