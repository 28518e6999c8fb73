// SPDX-License-Identifier: Apache-2.0
// Several devices: accounts by UUID, one limit each; what queries tell.
#include <algorithm>
#include <random>

#include "interpose/memory_view.h"
#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::enter_device;
using test::fake_memory;
using test::kMiB;

class MemoryDevicesTest : public test::MemoryFixture {
 protected:
  MemoryDevicesTest() : MemoryFixture(4) {}
  size_t free_bytes() {
    size_t value = 0;
    EXPECT_EQ(gacer_hook_cuMemGetInfo_v2(&value, nullptr), CUDA_SUCCESS);
    return value;
  }
  size_t total_bytes() {
    size_t value = 0;
    EXPECT_EQ(gacer_hook_cuMemGetInfo_v2(nullptr, &value), CUDA_SUCCESS);
    return value;
  }
  CUdeviceptr a_ = 0;
  CUdeviceptr b_ = 0;
};

TEST_F(MemoryDevicesTest, CON_07_in_any_order_of_devices_charges_land_on_the_right_uuid) {
  std::vector<uint8_t> order = {11, 12, 13, 14};
  do {
    test::reset_shim_with_memory(4);
    attachment_ = &test::attach_fake();
    limit(1024 * kMiB);
    fake_memory().uuid_of = order;
    for (int device = 0; device < 4; ++device) {
      enter_device(device);
      ASSERT_EQ(alloc(a_, 100 * kMiB * order[static_cast<size_t>(device)] / 16), CUDA_SUCCESS);
    }
    for (uint8_t name = 11; name <= 14; ++name) {
      const uint8_t uuid[16] = {name};
      uint64_t total = 0;
      uint64_t used = 0;
      ASSERT_EQ(memory_view(uuid, &total, &used), 0);
      EXPECT_EQ(used, 100 * kMiB * name / 16);
      EXPECT_EQ(total, 1024 * kMiB);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(MemoryDevicesTest, CON_07_each_device_has_the_whole_limit) {
  limit(4 * kMiB);
  for (int device = 0; device < 4; ++device) {
    enter_device(device);
    EXPECT_EQ(alloc(a_, 4 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(alloc(b_, 1), CUDA_ERROR_OUT_OF_MEMORY);
    expect_exact(device);
  }
}

TEST_F(MemoryDevicesTest,
       given_memory_freed_from_another_device_then_its_own_account_gets_it_back) {
  limit(4 * kMiB);
  enter_device(2);
  EXPECT_EQ(alloc(a_, 3 * kMiB), CUDA_SUCCESS);
  enter_device(1);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(a_), CUDA_SUCCESS);
  for (int device = 0; device < 4; ++device) expect_exact(device);
}

TEST_F(MemoryDevicesTest, MEM_12_a_limit_above_the_device_tells_of_the_device) {
  limit(9ULL << 30);
  EXPECT_EQ(total_bytes(), 8ULL << 30);
  EXPECT_EQ(alloc(a_, 6ULL << 30), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), 2ULL << 30);
  EXPECT_EQ(alloc(b_, 3ULL << 30), CUDA_ERROR_OUT_OF_MEMORY);  // the driver's own
  expect_exact();
}

TEST_F(MemoryDevicesTest, MEM_18_when_the_device_has_less_left_that_is_the_answer) {
  limit(60ULL << 30);
  fake_memory().devices[0].used = 7ULL << 30;  // neighbours
  EXPECT_EQ(free_bytes(), 1ULL << 30);
  EXPECT_EQ(alloc(a_, (1ULL << 30) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc(a_, free_bytes()), CUDA_SUCCESS);
}

TEST_F(MemoryDevicesTest, MEM_19_all_questions_agree) {
  limit(1024 * kMiB);
  EXPECT_EQ(alloc(a_, 100 * kMiB), CUDA_SUCCESS);
  size_t bytes = 0;
  EXPECT_EQ(gacer_hook_cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 1024 * kMiB);
  EXPECT_EQ(total_bytes(), 1024 * kMiB);
  EXPECT_EQ(free_bytes(), 924 * kMiB);
  const uint8_t uuid[16] = {1};
  uint64_t total = 0;
  uint64_t used = 0;
  EXPECT_EQ(memory_view(uuid, &total, &used), 0);  // what the NVML face shows
  EXPECT_EQ(total, total_bytes());
  EXPECT_EQ(used, total_bytes() - free_bytes());
}

TEST_F(MemoryDevicesTest, MEM_20_free_is_what_would_still_be_granted) {
  limit(100 * kMiB);
  EXPECT_EQ(alloc(a_, 37 * kMiB), CUDA_SUCCESS);
  const size_t room = free_bytes();
  EXPECT_EQ(alloc(b_, room + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc(b_, room), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), 0u);
}

TEST_F(MemoryDevicesTest, MEM_23_free_does_not_depend_on_neighbours) {
  limit(1024 * kMiB);
  const size_t alone = free_bytes();
  fake_memory().devices[0].used += 3ULL << 30;
  EXPECT_EQ(free_bytes(), alone);
}

TEST_F(MemoryDevicesTest, MEM_24_a_neighbours_frees_change_nothing) {
  limit(1024 * kMiB);
  fake_memory().devices[0].used += 3ULL << 30;
  EXPECT_EQ(alloc(a_, 24 * kMiB), CUDA_SUCCESS);
  for (int i = 0; i < 100; ++i) {
    fake_memory().devices[0].used -= 30 * kMiB;
    ASSERT_EQ(free_bytes(), 1000 * kMiB);
  }
}

// Seen from a program: tests/integration/memory.
TEST(MemoryRows, MEM_25_no_hook_stands_before_device_attributes) {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  EXPECT_STRNE(#base, "cuDeviceGetAttribute");
#include "interpose/cuda_hooks.def"
}

TEST_F(MemoryDevicesTest, given_a_limit_lowered_below_use_then_free_is_zero_and_nothing_new_fits) {
  limit(100 * kMiB);
  EXPECT_EQ(alloc(a_, 80 * kMiB), CUDA_SUCCESS);
  limit(50 * kMiB);
  EXPECT_EQ(free_bytes(), 0u);
  EXPECT_EQ(total_bytes(), 50 * kMiB);
  EXPECT_EQ(alloc(b_, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(a_), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), 50 * kMiB);
}

TEST_F(MemoryDevicesTest, MEM_11_random_frees_and_limits_never_wrap) {
  std::mt19937 random(11);
  std::vector<CUdeviceptr> live;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 100 == 0) limit((1 + random() % 64) * kMiB);
    CUdeviceptr pointer = 0;
    if (random() % 2 == 0 && alloc(pointer, 1 + random() % (4 * kMiB)) == CUDA_SUCCESS)
      live.push_back(pointer);
    if (random() % 2 == 0 && !live.empty()) {
      const size_t index = random() % live.size();
      EXPECT_EQ(gacer_hook_cuMemFree_v2(live[index]), CUDA_SUCCESS);
      EXPECT_NE(gacer_hook_cuMemFree_v2(live[index]), CUDA_SUCCESS);  // twice
      live[index] = live.back();
      live.pop_back();
    }
    ASSERT_EQ(charged(), in_use());
    ASSERT_LE(free_bytes(), total_bytes());
    ASSERT_LT(charged(), uint64_t{1} << 40);
  }
}

TEST_F(MemoryDevicesTest, MEM_17_an_allocator_that_frees_its_cache_and_retries_goes_on_for_ever) {
  limit(100 * kMiB);
  std::mt19937 random(17);
  std::vector<CUdeviceptr> cache;
  for (int step = 0; step < 10'000; ++step) {
    CUdeviceptr block = 0;
    const uint64_t bytes = (1 + random() % 40) * kMiB / 2;
    CUresult result = alloc(block, bytes);
    if (result != CUDA_SUCCESS) {
      ASSERT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
      for (const CUdeviceptr cached : cache)
        ASSERT_EQ(gacer_hook_cuMemFree_v2(cached), CUDA_SUCCESS);
      cache.clear();
      result = alloc(block, bytes);
    }
    ASSERT_EQ(result, CUDA_SUCCESS);
    ASSERT_LE(in_use(), 100 * kMiB);
    cache.push_back(block);
  }
}

TEST_F(MemoryDevicesTest, given_a_context_that_goes_then_its_memory_is_given_back) {
  limit(100 * kMiB);
  EXPECT_EQ(alloc(a_, 80 * kMiB), CUDA_SUCCESS);
  CUcontext primary = nullptr;
  EXPECT_EQ(gacer_hook_cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(in_use(), 0u);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(alloc(a_, 100 * kMiB), CUDA_SUCCESS);
}

TEST_F(MemoryDevicesTest, CON_04_a_program_that_edits_its_own_page_is_asked_against_all_the_same) {
  limit(4 * kMiB);
  shim().session.publish(attachment_);
  shim().memory.tell(*attachment_);  // as on attaching
  limit(0);                          // "no limit", says the program to itself
  EXPECT_EQ(alloc(a_, 8 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc(a_, 4 * kMiB), CUDA_SUCCESS);
}

}  // namespace
}  // namespace gacer::interpose
