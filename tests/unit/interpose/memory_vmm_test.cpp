// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;
using Handle = CUmemGenericAllocationHandle;

class MemoryVmmTest : public test::MemoryFixture {
 protected:
  MemoryVmmTest() : MemoryFixture(2) {}
  static constexpr CUdeviceptr kAddress = 0x500000000;
};

TEST_F(MemoryVmmTest, MEM_01_threads_without_a_context_are_charged_by_the_location) {
  limit(64 * kMiB);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([this, i] {
      test::enter_device(-1);
      Handle handle = 0;
      EXPECT_EQ(create(handle, 2 * kMiB * static_cast<uint64_t>(i + 1), i % 2), CUDA_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(charged(0), (2 + 6) * kMiB);
  EXPECT_EQ(charged(1), (4 + 8) * kMiB);
  expect_exact(0);
  expect_exact(1);
}

TEST_F(MemoryVmmTest, MEM_02_host_locations_and_invalid_ones_are_the_drivers_business) {
  limit(2 * kMiB);
  struct Case {
    int type, id;
    CUresult result;
  };
  const Case cases[] = {{2, 0, CUDA_SUCCESS},
                        {3, 7, CUDA_SUCCESS},
                        {4, -5, CUDA_SUCCESS},
                        {0, 0, CUDA_ERROR_INVALID_VALUE},
                        {77, 123456789, CUDA_ERROR_INVALID_VALUE},
                        {1, 123456789, CUDA_ERROR_INVALID_DEVICE},
                        {1, -1, CUDA_ERROR_INVALID_DEVICE}};
  for (const Case& row : cases) {
    Handle handle = 0;
    const CUmemAllocationProp properties = location(row.type, row.id);
    EXPECT_EQ(gacer_hook_cuMemCreate(&handle, 64 * kMiB, &properties, 0), row.result) << row.type;
    if (row.result == CUDA_SUCCESS) {
      EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_SUCCESS);
    }
  }
  Handle handle = 0;
  EXPECT_EQ(gacer_hook_cuMemCreate(&handle, 2 * kMiB, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(charged(0) + charged(1), 0u);
}

TEST_F(MemoryVmmTest, MEM_03_steps_are_granted_up_to_the_quota) {
  limit(1024 * kMiB);
  std::vector<Handle> handles;
  Handle handle = 0;
  CUdeviceptr at = kAddress;
  while (create(handle, 2 * kMiB) == CUDA_SUCCESS) {
    handles.push_back(handle);
    EXPECT_EQ(gacer_hook_cuMemMap(at, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    at += 2 * kMiB;
  }
  EXPECT_EQ(handles.size(), 512u);
  EXPECT_EQ(in_use(), 1024 * kMiB);
  EXPECT_EQ(gacer_hook_cuMemUnmap(kAddress, 512 * 2 * kMiB), CUDA_SUCCESS);  // all at once
  EXPECT_EQ(charged(), 1024 * kMiB);
  for (const Handle each : handles) EXPECT_EQ(gacer_hook_cuMemRelease(each), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(in_use(), 0u);
}

TEST_F(MemoryVmmTest, MEM_03_any_order_of_unmap_and_release_gives_all_back) {
  limit(64 * kMiB);
  for (const bool release_first : {true, false}) {
    Handle handle = 0;
    EXPECT_EQ(create(handle, 4 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMemMap(kAddress, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    if (release_first) {
      EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_SUCCESS);
    }
    EXPECT_EQ(charged(), 4 * kMiB);
    EXPECT_EQ(gacer_hook_cuMemUnmap(kAddress, 4 * kMiB), CUDA_SUCCESS);
    if (!release_first) {
      EXPECT_EQ(charged(), 4 * kMiB);
      EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_SUCCESS);
    }
    EXPECT_EQ(charged(), 0u);
    EXPECT_EQ(in_use(), 0u);
  }
}

TEST_F(MemoryVmmTest, MEM_03_a_retained_handle_keeps_the_charge) {
  limit(64 * kMiB);
  Handle handle = 0;
  Handle again = 0;
  EXPECT_EQ(create(handle, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemMap(kAddress, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_SUCCESS);
  void* inside = reinterpret_cast<void*>(kAddress + kMiB);  // NOLINT: an address of the driver's
  EXPECT_EQ(gacer_hook_cuMemRetainAllocationHandle(&again, inside), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemUnmap(kAddress, 4 * kMiB), CUDA_SUCCESS);
  expect_exact();
  EXPECT_EQ(charged(), 4 * kMiB);
  EXPECT_EQ(gacer_hook_cuMemRelease(again), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(gacer_hook_cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(charged(), 0u);
}

TEST_F(MemoryVmmTest, MEM_28_imported_memory_is_its_exporters) {
  limit(2 * kMiB);
  for (int i = 0; i < 3; ++i) {
    Handle handle = 0;
    EXPECT_EQ(gacer_hook_cuMemImportFromShareableHandle(&handle, nullptr,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMemMap(kAddress, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(charged(), 0u);
    EXPECT_EQ(gacer_hook_cuMemUnmap(kAddress, 2 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);  // closes twice
  }
  EXPECT_EQ(charged(), 0u);
}

TEST_F(MemoryVmmTest, MEM_28_memory_opened_by_ipc_is_its_exporters) {
  limit(2 * kMiB);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(gacer_hook_cuIpcOpenMemHandle_v2(&pointer, CUipcMemHandle{}, 1), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(pointer), CUDA_SUCCESS);  // reaches the driver
  EXPECT_EQ(gacer_hook_cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(charged(), 0u);
}

TEST_F(MemoryVmmTest, given_refused_calls_then_the_charge_stays) {
  limit(64 * kMiB);
  Handle handle = 0;
  EXPECT_EQ(create(handle, 4 * kMiB), CUDA_SUCCESS);
  gacer_hook_cuMemMap(kAddress, 4 * kMiB, 0, handle, 0);
  fake_memory().fail_call = 1;
  EXPECT_EQ(gacer_hook_cuMemUnmap(kAddress, 4 * kMiB), CUDA_ERROR_UNKNOWN);
  fake_memory().fail_call = 1;
  EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(charged(), 4 * kMiB);
  EXPECT_EQ(gacer_hook_cuMemUnmap(kAddress, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 0u);
}

}  // namespace
}  // namespace gacer::interpose
