// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/copy.h"

#include <gtest/gtest.h>

namespace gacer::simdriver {
namespace {

using simdevice::CopyKind;

constexpr uint64_t kDevice = 0x20000000000;
constexpr uint64_t kPinned = 0x700000000000;
constexpr uint64_t kPageable = 0x600000000000;

class CopyTest : public testing::Test {
 protected:
  CopyTest() {
    memory.set_device_range(kDevice, 1 << 30);
    add(kDevice, 4096, MemoryKind::kDevice);
    add(kDevice + 8192, 4096, MemoryKind::kDevice);
    add(kPinned, 4096, MemoryKind::kPinned);
  }
  void add(uint64_t base, uint64_t bytes, MemoryKind kind) {
    Allocation allocation;
    allocation.base = base;
    allocation.bytes = bytes;
    allocation.kind = kind;
    memory.add(allocation);
  }
  CUresult linear(uint64_t dst, PointerRole dst_role, uint64_t src, PointerRole src_role,
                  uint64_t bytes) {
    return make_copy(memory, {dst, dst_role, 0, 0}, {src, src_role, 0, 0}, {bytes, 1, 1}, work);
  }
  MemoryMap memory;
  CopyWork work;
};

TEST_F(CopyTest, KindsFollowFromTheAddresses) {
  const auto unified = PointerRole::kUnified;
  ASSERT_EQ(linear(kDevice, unified, kPinned, unified, 64), CUDA_SUCCESS);
  EXPECT_EQ(work.kind, CopyKind::kHtoD);
  EXPECT_FALSE(work.pageable);
  ASSERT_EQ(linear(kPageable, unified, kDevice, unified, 64), CUDA_SUCCESS);
  EXPECT_EQ(work.kind, CopyKind::kDtoH);
  EXPECT_TRUE(work.pageable);
  ASSERT_EQ(linear(kDevice, unified, kDevice + 8192, unified, 64), CUDA_SUCCESS);
  EXPECT_EQ(work.kind, CopyKind::kDtoD);
  ASSERT_EQ(linear(kPinned, unified, kPageable, unified, 64), CUDA_SUCCESS);
  EXPECT_EQ(work.kind, CopyKind::kHtoH);
}

TEST_F(CopyTest, BeyondTheAllocationIsInvalid) {
  EXPECT_EQ(linear(kDevice, PointerRole::kDevice, kPageable, PointerRole::kHost, 4096),
            CUDA_SUCCESS);
  EXPECT_EQ(linear(kDevice, PointerRole::kDevice, kPageable, PointerRole::kHost, 4097),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(linear(kDevice + 4096, PointerRole::kDevice, kPageable, PointerRole::kHost, 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CopyTest, ADevicePointerMustBeKnownAndAHostPointerMustNotBeADeviceOne) {
  EXPECT_EQ(linear(kPageable, PointerRole::kDevice, kPinned, PointerRole::kHost, 8),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(linear(kDevice, PointerRole::kDevice, kDevice + 4096, PointerRole::kHost, 8),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(linear(kDevice, PointerRole::kDevice, 0, PointerRole::kHost, 8),
            CUDA_ERROR_INVALID_VALUE);
}

CUDA_MEMCPY3D rows_to_host(size_t width, size_t height) {
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = kDevice;
  p.srcPitch = 512;
  p.dstMemoryType = CU_MEMORYTYPE_HOST;
  p.dstHost = reinterpret_cast<void*>(kPageable);
  p.dstPitch = width;
  p.WidthInBytes = width;
  p.Height = height;
  p.Depth = 1;
  return p;
}

TEST_F(CopyTest, RowsUseTheirPitches) {
  CUDA_MEMCPY3D p = rows_to_host(100, 8);
  p.srcXInBytes = 12;
  ASSERT_EQ(make_copy_3d(memory, p, work), CUDA_SUCCESS);
  EXPECT_EQ(work.src, kDevice + 12);
  EXPECT_EQ(work.src_pitch, 512U);
  EXPECT_EQ(work.dst_pitch, 100U);
  EXPECT_EQ(work.height, 8U);
}

TEST_F(CopyTest, TheLastRowMustFitWithoutItsPadding) {
  // 8 rows of pitch 512 in 4096 bytes: the last one may be 512 wide from column 0.
  EXPECT_EQ(make_copy_3d(memory, rows_to_host(512, 8), work), CUDA_SUCCESS);
  EXPECT_EQ(make_copy_3d(memory, rows_to_host(512, 9), work), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CopyTest, RowsWiderThanThePitchAndUnknownArraysAreRefused) {
  CUDA_MEMCPY3D p = rows_to_host(600, 2);
  EXPECT_EQ(make_copy_3d(memory, p, work), CUDA_ERROR_INVALID_VALUE);
  p = rows_to_host(100, 2);
  p.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(make_copy_3d(memory, p, work), CUDA_ERROR_INVALID_HANDLE);
  p.srcMemoryType = static_cast<CUmemorytype>(7);
  EXPECT_EQ(make_copy_3d(memory, p, work), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CopyTest, ADescriptionGivesTheSameCopyAgain) {
  CUDA_MEMCPY3D p = rows_to_host(100, 8);
  p.srcXInBytes = 12;
  ASSERT_EQ(make_copy_3d(memory, p, work), CUDA_SUCCESS);
  CopyWork again;
  ASSERT_EQ(make_copy_3d(memory, describe_copy(work), again), CUDA_SUCCESS);
  EXPECT_EQ(again.src, work.src);
  EXPECT_EQ(again.dst, work.dst);
  EXPECT_EQ(again.src_pitch, work.src_pitch);
  EXPECT_EQ(again.dst_pitch, work.dst_pitch);
  EXPECT_EQ(again.kind, work.kind);
  EXPECT_EQ(again.height, work.height);
}

}  // namespace
}  // namespace gacer::simdriver
