// SPDX-License-Identifier: Apache-2.0
// Several threads allocate and free by every path under one limit.
#include <random>
#include <thread>

#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;

class MemoryConcurrencyTest : public test::MemoryFixture {
 protected:
  // One allocation and its end, if it is granted. By virtual memory each thread has its own
  // address.
  void once(uint64_t way, uint64_t bytes, CUdeviceptr address) {
    CUdeviceptr pointer = 0;
    CUmemGenericAllocationHandle handle = 0;
    if (way == 0 && alloc(pointer, bytes) == CUDA_SUCCESS) {
      EXPECT_EQ(gacer_hook_cuMemFree_v2(pointer), CUDA_SUCCESS);
    }
    if (way == 1 && alloc_async(pointer, bytes) == CUDA_SUCCESS) {
      EXPECT_EQ(free_async(pointer), CUDA_SUCCESS);
    }
    if (way != 2 || create(handle, 4 * kMiB) != CUDA_SUCCESS) return;
    EXPECT_EQ(gacer_hook_cuMemMap(address, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMemUnmap(address, 4 * kMiB), CUDA_SUCCESS);
  }
};

TEST_F(MemoryConcurrencyTest, given_threads_on_all_paths_then_the_account_ends_at_zero) {
  limit(40 * kMiB);
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < 4; ++number)
    threads.emplace_back([this, number] {
      std::mt19937 random(number);
      for (int i = 0; i < 2'000; ++i) {
        once(random() % 3, 1 + random() % (8 * kMiB), 0x600000000 + number * (64 * kMiB));
        EXPECT_LT(charged(), uint64_t{1} << 40);
      }
    });
  for (std::thread& thread : threads) thread.join();
  gacer_hook_cuStreamSynchronize(nullptr);
  expect_exact();
  EXPECT_EQ(in_use(), 0u);
}

}  // namespace
}  // namespace gacer::interpose
