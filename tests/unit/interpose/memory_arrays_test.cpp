// SPDX-License-Identifier: Apache-2.0
#include "interpose/memory_arrays.h"

#include <functional>

#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake_memory;
using test::kMiB;

CUDA_ARRAY3D_DESCRIPTOR shape(size_t width, size_t height, size_t depth, CUarray_format format,
                              unsigned channels, unsigned flags = 0) {
  return {width, height, depth, format, channels, flags};
}

TEST(ArrayBytes, given_plain_formats_then_rows_are_padded) {
  EXPECT_EQ(array_bytes(shape(1, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1)), 512u);
  EXPECT_EQ(array_bytes(shape(128, 0, 0, CU_AD_FORMAT_FLOAT, 1)), 512u);
  EXPECT_EQ(array_bytes(shape(129, 4, 0, CU_AD_FORMAT_FLOAT, 1)), 4 * 1024u);
  EXPECT_EQ(array_bytes(shape(64, 64, 64, CU_AD_FORMAT_HALF, 4)), 64u * 64 * 512);
}

TEST(ArrayBytes, given_compressed_and_planar_formats_then_their_own_sizes_count) {
  EXPECT_EQ(array_bytes(shape(1024, 1024, 0, CU_AD_FORMAT_BC1_UNORM, 4)), 512u * 1024);
  EXPECT_EQ(array_bytes(shape(1024, 1024, 0, CU_AD_FORMAT_BC7_UNORM, 4)), 1024u * 1024);
  EXPECT_EQ(array_bytes(shape(1024, 1024, 0, CU_AD_FORMAT_NV12, 3)), 1536u * 1024);
}

TEST(ArrayBytes, given_sizes_that_wrap_then_they_saturate) {
  EXPECT_EQ(array_bytes(shape(SIZE_MAX, SIZE_MAX, SIZE_MAX, CU_AD_FORMAT_FLOAT, 4)), UINT64_MAX);
}

TEST(ArrayBytes, given_arrays_without_memory_of_their_own_then_nothing) {
  EXPECT_EQ(array_bytes(shape(64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING)),
            0u);
  EXPECT_EQ(array_bytes(shape(64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE)), 0u);
}

TEST(ArrayBytes, given_mipmaps_then_levels_halve_and_layers_stay) {
  const auto flat = shape(256, 256, 0, CU_AD_FORMAT_FLOAT, 1);
  EXPECT_EQ(mipmap_bytes(flat, 2), 256u * 1024 + 128 * 512);
  const auto layered = shape(256, 256, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED);
  EXPECT_EQ(mipmap_bytes(layered, 2), 6 * mipmap_bytes(flat, 2));
  EXPECT_LT(mipmap_bytes(flat, UINT32_MAX), 2 * mipmap_bytes(flat, 2));
}

class MemoryArraysTest : public test::MemoryFixture {};

TEST_F(MemoryArraysTest, MEM_26_pitch_arrays_and_mipmaps_are_charged_and_given_back_exactly) {
  limit(256 * kMiB);
  std::vector<CUdeviceptr> pointers(100);
  size_t pitch = 0;
  for (CUdeviceptr& pointer : pointers)
    ASSERT_EQ(gacer_hook_cuMemAllocPitch_v2(&pointer, &pitch, 1, 3, 4), CUDA_SUCCESS);
  EXPECT_EQ(charged(), 100u * 512 * 3);
  expect_exact();
  const CUDA_ARRAY_DESCRIPTOR flat{33, 7, CU_AD_FORMAT_FLOAT, 2};
  const CUDA_ARRAY3D_DESCRIPTOR deep = shape(33, 7, 5, CU_AD_FORMAT_HALF, 4);
  for (const uint64_t extra : {0, 4096}) {
    fake_memory().knows_array_size = extra != 0;
    fake_memory().array_extra_bytes = extra;
    CUarray one = nullptr;
    CUarray two = nullptr;
    CUmipmappedArray three = nullptr;
    EXPECT_EQ(gacer_hook_cuArrayCreate_v2(&one, &flat), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuArray3DCreate_v2(&two, &deep), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMipmappedArrayCreate(&three, &deep, 3), CUDA_SUCCESS);
    expect_exact();
    EXPECT_EQ(gacer_hook_cuArrayDestroy(one), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuArrayDestroy(two), CUDA_SUCCESS);
    EXPECT_EQ(gacer_hook_cuMipmappedArrayDestroy(three), CUDA_SUCCESS);
    expect_exact();
  }
  for (const CUdeviceptr pointer : pointers) gacer_hook_cuMemFree_v2(pointer);
  EXPECT_EQ(charged(), 0u);
}

TEST_F(MemoryArraysTest, given_a_driver_that_takes_more_than_fits_then_the_array_is_undone) {
  fake_memory().knows_array_size = true;
  fake_memory().array_extra_bytes = 8 * kMiB;
  limit(2 * kMiB);
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR flat{512, 512, CU_AD_FORMAT_FLOAT, 1};
  EXPECT_EQ(gacer_hook_cuArrayCreate_v2(&array, &flat), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(array, nullptr);
  EXPECT_EQ(in_use(), 0u);
  EXPECT_EQ(charged(), 0u);
}

TEST_F(MemoryArraysTest,
       MEM_16_every_allocation_over_quota_is_out_of_memory_and_works_after_a_free) {
  limit(8 * kMiB);
  CUdeviceptr hog = 0;
  CUdeviceptr pointer = 0;
  CUarray array = nullptr;
  CUmipmappedArray mipmap = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  CUmemoryPool pool = nullptr;
  size_t pitch = 0;
  CUmemPoolProps properties{};
  properties.location = location(CU_MEM_LOCATION_TYPE_DEVICE, 0).location;
  ASSERT_EQ(gacer_hook_cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  const CUDA_ARRAY_DESCRIPTOR flat{1024, 512, CU_AD_FORMAT_FLOAT, 1};
  const CUDA_ARRAY3D_DESCRIPTOR deep = shape(1024, 512, 1, CU_AD_FORMAT_FLOAT, 1);
  const auto prop = location(CU_MEM_LOCATION_TYPE_DEVICE, 0);
  const CUstream stream = test::stream_number(1);
  const std::function<CUresult()> all[] = {
      [&] { return gacer_hook_cuMemAlloc_v2(&pointer, 2 * kMiB); },
      [&] { return gacer_hook_cuMemAllocManaged(&pointer, 2 * kMiB, 1); },
      [&] { return gacer_hook_cuMemAllocPitch_v2(&pointer, &pitch, 1024, 2048, 4); },
      [&] { return gacer_hook_cuMemAllocAsync(&pointer, 2 * kMiB, stream); },
      [&] { return gacer_hook_cuMemAllocFromPoolAsync(&pointer, 2 * kMiB, pool, stream); },
      [&] { return gacer_hook_cuMemCreate(&handle, 2 * kMiB, &prop, 0); },
      [&] { return gacer_hook_cuArrayCreate_v2(&array, &flat); },
      [&] { return gacer_hook_cuArray3DCreate_v2(&array, &deep); },
      [&] { return gacer_hook_cuMipmappedArrayCreate(&mipmap, &deep, 1); },
  };
  int number = 0;
  for (const auto& call : all) {
    ++number;
    const uint64_t before = charged();
    limit(before + 3 * kMiB);
    ASSERT_EQ(alloc(hog, 2 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(call(), CUDA_ERROR_OUT_OF_MEMORY) << number;
    EXPECT_EQ(call(), CUDA_ERROR_OUT_OF_MEMORY) << number;
    EXPECT_EQ(charged(), before + 2 * kMiB);
    EXPECT_EQ(gacer_hook_cuMemFree_v2(hog), CUDA_SUCCESS);
    EXPECT_EQ(call(), CUDA_SUCCESS) << number;
    expect_exact();
  }
}

}  // namespace
}  // namespace gacer::interpose
