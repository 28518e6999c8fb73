// SPDX-License-Identifier: Apache-2.0
// The k-th driver call of each allocating hook fails, for every k: afterwards the driver's memory,
// the account and what the program thinks it owns are the same.
#include <functional>

#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;

class MemoryFaultsTest : public test::MemoryFixture {
 protected:
  // Runs `allocate` and, if it succeeded, `release` with each of its driver calls failing in turn.
  void fail_each_call(const char* name, const std::function<CUresult()>& allocate,
                      const std::function<CUresult()>& release) {
    for (int k = 1; k < 50; ++k) {
      SCOPED_TRACE(std::string(name) + ", failing call " + std::to_string(k));
      test::reset_shim_with_memory();
      attachment_ = &test::attach_fake();
      limit(64 * kMiB);
      shim().memory.devices().index_of(0);
      fake_memory().fail_call = k;
      const CUresult made = allocate();
      if (made == CUDA_SUCCESS) {
        const CUresult freed = release();
        if (freed != CUDA_SUCCESS) {
          EXPECT_EQ(release(), CUDA_SUCCESS);  // the failure was not sticky
        }
      }
      const bool all_tried = fake_memory().fail_call != 0;
      fake_memory().fail_call = 0;
      gacer_hook_cuStreamSynchronize(nullptr);
      EXPECT_EQ(in_use(), 0u);
      EXPECT_EQ(charged(), 0u);
      if (all_tried) return;
    }
    FAIL() << "more driver calls than expected";
  }
  CUdeviceptr pointer_ = 0;
};

TEST_F(MemoryFaultsTest, MEM_14_plain_memory) {
  fail_each_call(
      "cuMemAlloc", [&] { return alloc(pointer_, kMiB); },
      [&] { return gacer_hook_cuMemFree_v2(pointer_); });
  size_t pitch = 0;
  fail_each_call(
      "cuMemAllocPitch",
      [&] { return gacer_hook_cuMemAllocPitch_v2(&pointer_, &pitch, 100, 100, 4); },
      [&] { return gacer_hook_cuMemFree_v2(pointer_); });
  fail_each_call(
      "cuMemAllocManaged", [&] { return gacer_hook_cuMemAllocManaged(&pointer_, kMiB, 1); },
      [&] { return gacer_hook_cuMemFree_v2(pointer_); });
}

TEST_F(MemoryFaultsTest, MEM_14_stream_ordered_memory) {
  fail_each_call(
      "cuMemAllocAsync", [&] { return alloc_async(pointer_, kMiB); },
      [&] { return free_async(pointer_); });
}

TEST_F(MemoryFaultsTest, MEM_14_virtual_memory) {
  CUmemGenericAllocationHandle handle = 0;
  fail_each_call(
      "cuMemCreate", [&] { return create(handle, 2 * kMiB); },
      [&] { return gacer_hook_cuMemRelease(handle); });
}

TEST_F(MemoryFaultsTest, MEM_14_arrays) {
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR flat{100, 100, CU_AD_FORMAT_FLOAT, 1};
  for (const bool knows : {false, true}) {
    fail_each_call(
        "cuArrayCreate",
        [&] {
          fake_memory().knows_array_size = knows;
          return gacer_hook_cuArrayCreate_v2(&array, &flat);
        },
        [&] { return gacer_hook_cuArrayDestroy(array); });
  }
}

}  // namespace
}  // namespace gacer::interpose
