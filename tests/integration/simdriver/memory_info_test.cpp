// SPDX-License-Identifier: Apache-2.0
// What the driver tells about memory: pointer attributes, ranges, advice, flags of host memory.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

constexpr size_t kPart = 2 << 20;

class MemoryInfoTest : public DeviceTest {
 protected:
  template <typename T>
  T attribute(CUpointer_attribute which, CUdeviceptr address) {
    T value{};
    EXPECT_EQ(cuPointerGetAttribute(&value, which, address), CUDA_SUCCESS) << which;
    return value;
  }
  unsigned type_of(CUdeviceptr address) {
    return attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  }
  template <typename T = int>
  T range(CUmem_range_attribute which, CUdeviceptr address, size_t bytes) {
    T value{};
    EXPECT_EQ(cuMemRangeGetAttribute(&value, sizeof value, which, address, bytes), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(MemoryInfoTest, given_memory_of_each_kind_then_its_attributes_tell_which) {
  CUdeviceptr plain = 0, managed = 0, pooled = 0;
  void* pinned = nullptr;
  CU_OK(cuMemAlloc(&plain, 1000));
  CU_OK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
  CU_OK(cuMemAllocAsync(&pooled, 1000, nullptr));
  CU_OK(cuMemHostAlloc(&pinned, 1000, 0));
  const auto host = reinterpret_cast<CUdeviceptr>(pinned);
  EXPECT_EQ(type_of(plain + 10), static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(type_of(managed), static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(type_of(pooled), static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(type_of(host), static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, plain), context_);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, pooled), nullptr);
  CUmemoryPool pool = nullptr;
  CU_OK(cuDeviceGetMemPool(&pool, 0));
  EXPECT_EQ(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled), pool);
  EXPECT_EQ(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, plain), nullptr);
  EXPECT_EQ(attribute<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, host + 8),
            static_cast<char*>(pinned) + 8);
  void* none = nullptr;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuPointerGetAttribute(&none, CU_POINTER_ATTRIBUTE_HOST_POINTER, plain));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), 1U);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, plain), 1U);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pooled), 0U);
  EXPECT_EQ(attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, plain + 500), 1000U);
  EXPECT_NE(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, plain),
            attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, pooled));
  unsigned on = 1;
  CU_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain), 1U);
  int local = 0;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&none, CU_POINTER_ATTRIBUTE_CONTEXT,
                                                        reinterpret_cast<CUdeviceptr>(&local)));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MAPPED, plain));
  CU_OK(cuMemFree(plain));
  CU_OK(cuMemFree(managed));
  CU_OK(cuMemFree(pooled));
  CU_OK(cuMemFreeHost(pinned));
}

TEST_F(MemoryInfoTest, given_a_reservation_then_mapped_and_unmapped_parts_differ) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CU_OK(cuMemAddressReserve(&range, 4 * kPart, 0, 0, 0));
  CU_OK(cuMemCreate(&handle, kPart, &prop, 0));
  CU_OK(cuMemMap(range + kPart, kPart, 0, handle, 0));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MAPPED, range), 0U);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MAPPED, range + kPart), 1U);
  for (const CUdeviceptr address : {range, range + kPart + 5}) {
    EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address), range);
    EXPECT_EQ(attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address), 4 * kPart);
  }
  EXPECT_EQ(attribute<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, range + kPart), kPart);
  EXPECT_EQ(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, range + kPart),
            static_cast<unsigned long long>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, range + kPart), nullptr);
  CUdeviceptr base = 0;
  CU_IS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, nullptr, range));
  CU_OK(cuMemUnmap(range + kPart, kPart));
  CU_OK(cuMemRelease(handle));
  CU_OK(cuMemAddressFree(range, 4 * kPart));
  unsigned mapped = 0;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, range));
}

TEST_F(MemoryInfoTest, given_advice_on_part_of_managed_memory_then_the_range_says_so) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  CUdeviceptr data = 0;
  CU_OK(cuMemAllocManaged(&data, 4 * page, CU_MEM_ATTACH_GLOBAL));
  const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, 0}, host{CU_MEM_LOCATION_TYPE_HOST, 7};
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, data, 4 * page), 0);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, data, 4 * page), CU_DEVICE_INVALID);
  CU_OK(cuMemAdvise(data, 2 * page, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, data, 2 * page), 1);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, data, 3 * page), 0);
  CU_OK(cuMemAdvise(data + page, 100, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, data + page, page), 0);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, data, 2 * page), CU_DEVICE_INVALID);
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, data + page, page),
            CU_MEM_LOCATION_TYPE_DEVICE);
  CU_OK(cuMemAdvise(data, page, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, data, page), CU_DEVICE_CPU);
  CU_OK(cuMemAdvise(data, page, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, host));
  CU_OK(cuMemAdvise(data, 4 * page, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
  CU_OK(cuMemAdvise(data, 2 * page, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
  const auto list = range<std::array<int, 3>>(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, data, 4 * page);
  EXPECT_THAT(list, testing::ElementsAre(0, CU_DEVICE_INVALID, CU_DEVICE_INVALID));
  CU_OK(cuMemPrefetchAsync(data, 4 * page, host, 0, nullptr));
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, data, 4 * page), CU_DEVICE_CPU);
  CU_OK(cuMemPrefetchAsync(data + 3 * page, page, device, 0, nullptr));
  EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, data, 4 * page),
            CU_DEVICE_INVALID);
  int values[2] = {};
  void* places[] = {&values[0], &values[1]};
  size_t sizes[] = {4, 4};
  CUmem_range_attribute wanted[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
  CU_OK(cuMemRangeGetAttributes(places, sizes, wanted, 2, data, page));
  EXPECT_THAT(values, testing::ElementsAre(1, CU_DEVICE_CPU));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemRangeGetAttribute(values, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, data, page));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemRangeGetAttribute(values, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, data, 5 * page));
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise(data, page, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                               {CU_MEM_LOCATION_TYPE_DEVICE, 9}));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(data, page, CU_MEM_ADVISE_SET_ACCESSED_BY,
                                              {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(data, page, device, 1, nullptr));
  CU_OK(cuMemFree(data));
  CUdeviceptr plain = 0;
  CU_OK(cuMemAlloc(&plain, page));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(plain, page, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
  CU_OK(cuMemFree(plain));
}

TEST_F(MemoryInfoTest, given_host_memory_then_flags_are_told_and_registration_is_checked) {
  void* pinned = nullptr;
  unsigned flags = 0;
  CU_OK(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED));
  CU_OK(cuMemHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags & (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED),
            static_cast<unsigned>(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(nullptr, pinned));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&pinned, 0, 0));
  CU_OK(cuMemFreeHost(pinned));
  void* pages = std::aligned_alloc(4096, 8192);
  CU_OK(cuMemHostRegister(pages, 8192, CU_MEMHOSTREGISTER_READ_ONLY));
  CU_IS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(pages, 4096, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, pages));  // not allocated by CUDA
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(nullptr, 4096, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(static_cast<char*>(pages) + 8192, 4096, 0x80));
  CU_IS(CUDA_ERROR_NOT_SUPPORTED,
        cuMemHostRegister(static_cast<char*>(pages) + 8192, 4096, CU_MEMHOSTREGISTER_IOMEMORY));
  CU_OK(cuMemHostUnregister(pages));
  CU_IS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(pages));
  std::free(pages);
}

TEST_F(MemoryInfoTest,
       given_a_handle_for_an_address_range_is_asked_for_then_it_is_refused_politely) {
  CUdeviceptr data = 0;
  int fd = -1;
  CU_OK(cuMemAlloc(&data, 1 << 20));
  const CUdeviceptr page = (data + 4095) / 4096 * 4096;
  CU_IS(CUDA_ERROR_NOT_SUPPORTED,
        cuMemGetHandleForAddressRange(&fd, page, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemGetHandleForAddressRange(nullptr, page, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemGetHandleForAddressRange(&fd, page, 100, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  EXPECT_EQ(fd, -1);
  CU_OK(cuMemFree(data));
}

}  // namespace
}  // namespace gacer::simdriver
