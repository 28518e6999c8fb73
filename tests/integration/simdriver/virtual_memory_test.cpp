// SPDX-License-Identifier: Apache-2.0
// cuMemAddressReserve, cuMemCreate, cuMemMap and their kin in one process.
#include <gmock/gmock.h>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

constexpr size_t kPart = 2 << 20;

CUmemAllocationProp on_device(int device = 0) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

CUmemAccessDesc access(CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                       CUmemLocationType type = CU_MEM_LOCATION_TYPE_DEVICE, int id = 0) {
  return {{type, id}, flags};
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

class VirtualMemoryTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    CU_OK(cuMemAddressReserve(&range_, 4 * kPart, 0, 0, 0));
  }
  void TearDown() override {
    CU_OK(cuMemAddressFree(range_, 4 * kPart));
    DeviceTest::TearDown();
  }
  CUmemGenericAllocationHandle create(size_t bytes = kPart) {
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp prop = on_device();
    EXPECT_EQ(cuMemCreate(&handle, bytes, &prop, 0), CUDA_SUCCESS);
    return handle;
  }
  CUdeviceptr range_ = 0;
};

TEST_F(VirtualMemoryTest, given_mapped_memory_with_access_then_kernels_and_copies_use_it) {
  const auto handle = create(2 * kPart);
  const CUmemAccessDesc wanted = access();
  CU_OK(cuMemMap(range_, 2 * kPart, 0, handle, 0));
  CU_OK(cuMemSetAccess(range_, 2 * kPart, &wanted, 1));
  CU_OK(cuMemsetD32(range_, 41, 100));
  CU_OK(add_one(range_, 100));
  CU_OK(cuCtxSynchronize());
  EXPECT_THAT(read_ints(range_, 100), testing::Each(42));
  CU_OK(cuMemUnmap(range_, 2 * kPart));
  CU_OK(cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest, given_adjoining_mappings_then_they_are_one_piece) {
  const auto first = create(), second = create();
  const CUmemAccessDesc wanted = access();
  CU_OK(cuMemMap(range_, kPart, 0, first, 0));
  CU_OK(cuMemMap(range_ + kPart, kPart, 0, second, 0));
  int four[4] = {1, 2, 3, 4};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(range_, four, 16));  // no access yet
  CU_OK(cuMemSetAccess(range_, 2 * kPart, &wanted, 1));
  CU_OK(cuMemcpyHtoD(range_ + kPart - 8, four, 16));
  CU_OK(add_one(range_ + kPart - 8, 4));
  EXPECT_THAT(read_ints(range_ + kPart - 8, 4), testing::ElementsAre(2, 3, 4, 5));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(range_ + 2 * kPart - 8, four, 16));
  CUdeviceptr base = 0;
  size_t bytes = 0;
  CU_OK(cuMemGetAddressRange(&base, &bytes, range_ + kPart + 5));
  EXPECT_EQ(base, range_ + kPart);
  EXPECT_EQ(bytes, kPart);
  CU_OK(cuMemUnmap(range_, 2 * kPart));
  CU_OK(cuMemRelease(first));
  CU_OK(cuMemRelease(second));
}

TEST_F(VirtualMemoryTest, given_handle_and_mappings_then_memory_is_charged_until_the_last_goes) {
  const size_t before = free_bytes();
  const auto handle = create();
  EXPECT_EQ(free_bytes(), before - kPart);
  CU_OK(cuMemMap(range_, kPart, 0, handle, 0));
  CU_OK(cuMemMap(range_ + kPart, kPart, 0, handle, 0));  // the same memory twice
  EXPECT_EQ(free_bytes(), before - kPart);
  CU_OK(cuMemRelease(handle));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
  EXPECT_EQ(free_bytes(), before - kPart);
  CU_OK(cuMemUnmap(range_, kPart));
  CUmemGenericAllocationHandle again = 0;
  CU_OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range_ + kPart + 100)));
  EXPECT_EQ(again, handle);
  CU_OK(cuMemUnmap(range_ + kPart, kPart));
  EXPECT_EQ(free_bytes(), before - kPart);
  CU_OK(cuMemRelease(again));
  EXPECT_EQ(free_bytes(), before);
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range_)));
}

TEST_F(VirtualMemoryTest, given_wrong_arguments_then_they_are_refused) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = on_device();
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(nullptr, kPart, &prop, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kPart, nullptr, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, 0, &prop, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kPart + 4096, &prop, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kPart, &prop, 1));
  CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, size_t{1} << 40, &prop, 0));
  prop.location.id = 1;
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, kPart, &prop, 0));
  prop = on_device();
  prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kPart, &prop, 0));
  prop = on_device();
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  CU_IS(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, kPart, &prop, 0));
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kPart, &prop, 0));
  prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kPart, &prop, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(12345));
  CUdeviceptr range = 0;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(nullptr, kPart, 0, 0, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&range, 0, 0, 0, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&range, 100, 0, 0, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&range, kPart, 3, 0, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&range, kPart, 0, 0, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range_, kPart));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range_ + kPart, kPart));
}

TEST_F(VirtualMemoryTest, given_mappings_outside_the_rules_then_they_are_refused) {
  const auto handle = create();
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_ + 4096, kPart, 0, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_, 4096, 0, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_, 2 * kPart, 0, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_, kPart, kPart, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_, kPart, 0, handle, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_, kPart, 0, handle + 77, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_ + 4 * kPart, kPart, 0, handle, 0));
  CU_OK(cuMemMap(range_, kPart, 0, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(range_, kPart, 0, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range_, 4 * kPart));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(range_));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range_, 2 * kPart));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range_ + kPart, kPart));
  const CUmemAccessDesc wanted = access();
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(range_, 2 * kPart, &wanted, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(range_, kPart, nullptr, 1));
  const CUmemAccessDesc nowhere =
      access(CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_LOCATION_TYPE_DEVICE, 4);
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuMemSetAccess(range_, kPart, &nowhere, 1));
  const CUmemAccessDesc host =
      access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_LOCATION_TYPE_HOST);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(range_, kPart, &host, 1));
  CU_OK(cuMemUnmap(range_, kPart));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range_, kPart));
  CU_OK(cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest, given_access_then_it_can_be_asked_for) {
  const auto handle = create();
  unsigned long long flags = 99;
  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess(&flags, &location, range_));
  CU_OK(cuMemMap(range_, kPart, 0, handle, 0));
  CU_OK(cuMemGetAccess(&flags, &location, range_));
  EXPECT_EQ(flags, 0ULL);
  const CUmemAccessDesc wanted = access(CU_MEM_ACCESS_FLAGS_PROT_READ);
  CU_OK(cuMemSetAccess(range_, kPart, &wanted, 1));
  CU_OK(cuMemGetAccess(&flags, &location, range_ + 100));
  EXPECT_EQ(flags, static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READ));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess(nullptr, &location, range_));
  location.id = 5;
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuMemGetAccess(&flags, &location, range_));
  CUmemAllocationProp prop{};
  CU_OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
  EXPECT_EQ(prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(prop.type, CU_MEM_ALLOCATION_TYPE_PINNED);
  size_t granularity = 0;
  CU_OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(granularity, kPart);
  int fd = -1;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CU_OK(cuMemUnmap(range_, kPart));
  CU_OK(cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest,
       given_memory_on_the_host_then_both_sides_see_it_and_the_device_is_not_charged) {
  const size_t before = free_bytes();
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = on_device();
  prop.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  CU_OK(cuMemCreate(&handle, kPart, &prop, 0));
  EXPECT_EQ(free_bytes(), before);
  CU_OK(cuMemMap(range_, kPart, 0, handle, 0));
  const CUmemAccessDesc both[] = {
      access(), access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_LOCATION_TYPE_HOST)};
  CU_OK(cuMemSetAccess(range_, kPart, both, 2));
  auto* host = reinterpret_cast<int*>(range_);
  for (int i = 0; i < 10; ++i) host[i] = i;
  CU_OK(add_one(range_, 10));
  CU_OK(cuCtxSynchronize());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(host[i], i + 1);
  unsigned type = 0;
  CU_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range_));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  CU_OK(cuMemUnmap(range_, kPart));
  CU_OK(cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest, given_unmapped_memory_then_access_is_gone_and_must_be_given_anew) {
  const auto handle = create();
  const CUmemAccessDesc wanted = access();
  CU_OK(cuMemMap(range_, kPart, 0, handle, 0));
  CU_OK(cuMemSetAccess(range_, kPart, &wanted, 1));
  CU_OK(cuMemUnmap(range_, kPart));
  int value = 0;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&value, range_, 4));
  CU_OK(cuMemMap(range_, kPart, 0, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&value, range_, 4));  // access must be given anew
  CU_OK(cuMemUnmap(range_, kPart));
  CU_OK(cuMemRelease(handle));
}

}  // namespace
}  // namespace gacer::simdriver
