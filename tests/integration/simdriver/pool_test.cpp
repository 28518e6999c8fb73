// SPDX-License-Identifier: Apache-2.0
// Memory pools and stream-ordered allocation.
#include <gmock/gmock.h>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kBlock = 32 * kMiB;

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

CUmemPoolProps on_device() {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return props;
}

class PoolTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    const CUmemPoolProps props = on_device();
    CU_OK(cuMemPoolCreate(&pool_, &props));
    CU_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    CU_OK(cuStreamDestroy(stream_));
    if (pool_ != nullptr) {
      CU_OK(cuMemPoolDestroy(pool_));
    }
    DeviceTest::TearDown();
  }
  cuuint64_t figure(CUmemPool_attribute attribute) const {
    cuuint64_t value = 0;
    EXPECT_EQ(cuMemPoolGetAttribute(pool_, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  cuuint64_t reserved() const { return figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
  cuuint64_t used() const { return figure(CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAllocFromPoolAsync(&address, bytes, pool_, stream_), CUDA_SUCCESS);
    return address;
  }
  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr;
};

TEST_F(PoolTest, given_small_allocations_then_the_pool_reserves_whole_blocks) {
  const size_t before = free_bytes();
  const CUdeviceptr first = allocate(kMiB), second = allocate(1000);
  EXPECT_EQ(reserved(), kBlock);
  EXPECT_EQ(used(), kMiB + 1024);
  EXPECT_EQ(free_bytes(), before - kBlock);
  const CUdeviceptr large = allocate(kBlock + 1);
  EXPECT_EQ(reserved(), 3 * kBlock);
  EXPECT_EQ(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 3 * kBlock);
  CU_OK(cuMemsetD32Async(first, 41, 10, stream_));
  CU_OK(add_one(first, 10, stream_));
  CU_OK(cuMemFreeAsync(large, stream_));
  CU_OK(cuMemFreeAsync(second, stream_));
  CU_OK(cuStreamSynchronize(stream_));  // threshold 0: what is unused goes
  EXPECT_EQ(read_ints(first, 10), std::vector<int>(10, 42));
  EXPECT_EQ(reserved(), kBlock);
  EXPECT_EQ(used(), kMiB);
  CU_OK(cuMemFree(first));
  EXPECT_EQ(reserved(), 0U);
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(PoolTest, given_a_release_threshold_then_the_pool_keeps_its_blocks_until_it_is_trimmed) {
  cuuint64_t threshold = UINT64_MAX;
  CU_OK(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  const CUdeviceptr address = allocate(40 * kMiB);
  CU_OK(cuMemFreeAsync(address, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(reserved(), 2 * kBlock);
  EXPECT_EQ(used(), 0U);
  CU_OK(cuMemPoolTrimTo(pool_, kBlock));
  EXPECT_EQ(reserved(), 2 * kBlock);  // one block of both: less would be left than asked for
  CU_OK(cuMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(reserved(), 0U);
  EXPECT_EQ(figure(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 40 * kMiB);
  cuuint64_t zero = 0, one = 1;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
  CU_OK(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  CU_OK(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
  EXPECT_EQ(figure(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0U);
  EXPECT_EQ(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0U);
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
}

TEST_F(PoolTest, given_a_loop_of_allocations_on_one_stream_then_the_pool_does_not_grow) {
  CUdeviceptr first = 0;
  for (int i = 0; i < 50; ++i) {
    const CUdeviceptr address = allocate(10 * kMiB);
    if (i == 0) first = address;
    CU_OK(spin(1000, stream_));
    CU_OK(cuMemFreeAsync(address, stream_));
    EXPECT_EQ(address, first);
  }
  EXPECT_EQ(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), kBlock);
  CU_OK(cuStreamSynchronize(stream_));
}

TEST_F(PoolTest, given_a_pool_destroyed_with_allocations_then_they_stay_usable_until_freed) {
  const size_t before = free_bytes();
  const CUdeviceptr address = allocate(kMiB);
  CU_OK(cuMemPoolDestroy(pool_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool_));
  CUdeviceptr other = 0;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&other, 100, pool_, stream_));
  pool_ = nullptr;
  CU_OK(cuMemsetD32Async(address, 7, 10, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_THAT(read_ints(address, 10), testing::Each(7));
  EXPECT_EQ(free_bytes(), before - kBlock);
  CU_OK(cuMemFreeAsync(address, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(PoolTest, given_the_device_pool_is_set_then_plain_allocations_come_from_it) {
  CUmemoryPool standard = nullptr, current = nullptr;
  CU_OK(cuDeviceGetDefaultMemPool(&standard, 0));
  CU_OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, standard);
  CU_OK(cuDeviceSetMemPool(0, pool_));
  CUdeviceptr address = 0;
  CU_OK(cuMemAllocAsync(&address, kMiB, stream_));
  EXPECT_EQ(used(), kMiB);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(standard));
  CU_OK(cuMemFreeAsync(address, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  CU_OK(cuMemPoolDestroy(pool_));
  pool_ = nullptr;
  CU_OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, standard);
}

TEST_F(PoolTest, given_a_full_pool_then_allocation_fails_and_others_are_not_touched) {
  CUmemPoolProps props = on_device();
  props.maxSize = 64 * kMiB;
  CUmemoryPool small = nullptr;
  CU_OK(cuMemPoolCreate(&small, &props));
  CUdeviceptr address = 0, more = 0;
  CU_OK(cuMemAllocFromPoolAsync(&address, 60 * kMiB, small, stream_));
  CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&more, 10 * kMiB, small, stream_));
  CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&more, size_t{1} << 40, stream_));
  CU_OK(cuMemFreeAsync(address, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  CU_OK(cuMemPoolDestroy(small));
}

TEST_F(PoolTest, given_cached_pool_memory_when_the_device_is_full_then_it_is_given_up) {
  cuuint64_t threshold = UINT64_MAX;
  CU_OK(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  const size_t half = free_bytes() / 2 / kBlock * kBlock;
  CU_OK(cuMemFreeAsync(allocate(half), stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(reserved(), half);
  CUdeviceptr address = 0;
  CU_OK(cuMemAlloc(&address, half + half / 2));
  EXPECT_EQ(reserved(), 0U);
  CU_OK(cuMemFree(address));
}

TEST_F(PoolTest, given_wrong_arguments_then_they_are_refused) {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props = on_device();
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(nullptr, &props));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, nullptr));
  props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &props));
  props = on_device();
  props.location.id = 3;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &props));
  props = on_device();
  props.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  CU_IS(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &props));
  props.location.type = CU_MEM_LOCATION_TYPE_HOST;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &props));
  CUdeviceptr address = 0;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(nullptr, 100, stream_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(&address, 0, stream_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(1234, stream_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(nullptr, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, nullptr));
  const CUmemAccessDesc none{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool_, &none, 1));
  int fd = -1;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemPoolExportToShareableHandle(&fd, pool_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemPoolPtrExportData data{};
  const CUdeviceptr mine = allocate(100);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer(&data, mine));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolImportPointer(&address, pool_, &data));
  CUipcMemHandle handle{};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, mine));
  CU_OK(cuMemFree(mine));
}

}  // namespace
}  // namespace gacer::simdriver
