// SPDX-License-Identifier: Apache-2.0
// CUDA arrays and copies to and from them.
#include <gmock/gmock.h>

#include <numeric>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

CUDA_ARRAY3D_DESCRIPTOR floats(size_t width, size_t height = 0, size_t depth = 0,
                               unsigned flags = 0, unsigned channels = 1) {
  return {width, height, depth, CU_AD_FORMAT_FLOAT, channels, flags};
}

class ArrayTest : public DeviceTest {
 protected:
  CUarray create(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_SUCCESS);
    return array;
  }
  static std::vector<float> counted(size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    return values;
  }
};

TEST_F(ArrayTest, given_an_array_then_its_memory_is_charged_and_comes_back) {
  const size_t before = free_bytes();
  const CUDA_ARRAY_DESCRIPTOR flat{1024, 512, CU_AD_FORMAT_UNSIGNED_INT8, 4};
  CUarray array = nullptr;
  CU_OK(cuArrayCreate(&array, &flat));
  EXPECT_LE(free_bytes(), before - 1024 * 512 * 4);
  CUDA_ARRAY_DESCRIPTOR told{};
  CUDA_ARRAY3D_DESCRIPTOR told_3d{};
  CU_OK(cuArrayGetDescriptor(&told, array));
  CU_OK(cuArray3DGetDescriptor(&told_3d, array));
  EXPECT_EQ(told.Width, 1024U);
  EXPECT_EQ(told.Height, 512U);
  EXPECT_EQ(told.NumChannels, 4U);
  EXPECT_EQ(told_3d.Depth, 0U);
  CU_OK(cuArrayDestroy(array));
  EXPECT_EQ(free_bytes(), before);
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuArrayGetDescriptor(&told, array));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(nullptr));
}

TEST_F(ArrayTest, given_descriptors_outside_the_table_then_they_are_refused) {
  CUarray array = nullptr;
  const auto refused = [&](const CUDA_ARRAY3D_DESCRIPTOR& d, CUresult code) {
    EXPECT_EQ(code, cuArray3DCreate(&array, &d))
        << d.Width << " x " << d.Height << " x " << d.Depth << " flags " << d.Flags;
  };
  refused(floats(0), CUDA_ERROR_INVALID_VALUE);
  refused(floats(131073), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 0, 4), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 8, 6, CUDA_ARRAY3D_CUBEMAP), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 16, 7, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 16, 3000, CUDA_ARRAY3D_LAYERED), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 16, 2, CUDA_ARRAY3D_TEXTURE_GATHER), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 16, 0, 0, 3), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 16, 0, 0x8000), CUDA_ERROR_INVALID_VALUE);
  refused(floats(16, 16, 0, CUDA_ARRAY3D_SPARSE), CUDA_ERROR_NOT_SUPPORTED);
  refused(floats(16, 16, 0, CUDA_ARRAY3D_DEFERRED_MAPPING), CUDA_ERROR_NOT_SUPPORTED);
  refused(floats(131072, 65536, 0, 0, 4), CUDA_ERROR_OUT_OF_MEMORY);
  const CUDA_ARRAY3D_DESCRIPTOR fine = floats(16);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(nullptr, &fine));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, nullptr));
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  array = create(fine);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(&needs, array, 0));
  CU_OK(cuArrayDestroy(array));
}

TEST_F(ArrayTest, given_linear_copies_then_bytes_travel_there_and_back) {
  const auto values = counted(100);
  std::vector<float> back(100);
  CUarray first = create(floats(100)), second = create(floats(100));
  CUdeviceptr data = 0;
  CU_OK(cuMemAlloc(&data, 400));
  CU_OK(cuMemcpyHtoA(first, 0, values.data(), 400));
  CU_OK(cuMemcpyAtoA(second, 40, first, 0, 360));
  CU_OK(cuMemcpyAtoD(data, second, 40, 360));
  CU_OK(cuMemcpyDtoA(first, 0, data, 360));
  CU_OK(cuMemcpyAtoH(back.data(), first, 4, 396));
  EXPECT_EQ(back[0], 2.0F);
  EXPECT_EQ(back[88], 90.0F);
  EXPECT_EQ(back[89], 91.0F);  // still there from the first copy
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA(first, 4, values.data(), 400));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuMemcpyHtoA(nullptr, 0, values.data(), 4));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA(first, 0, nullptr, 4));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoD(data + 100, first, 0, 400));
  CU_OK(cuArrayDestroy(first));
  CU_OK(cuArrayDestroy(second));
}

TEST_F(ArrayTest, given_shaped_copies_then_rectangles_and_boxes_arrive_where_they_should) {
  CUarray array = create(floats(8, 4, 3));
  const auto values = counted(2 * 2 * 2);
  CUDA_MEMCPY3D in{};
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = values.data();
  in.srcPitch = 8;
  in.srcHeight = 2;
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  in.dstArray = array;
  in.dstXInBytes = 4;
  in.dstY = 1;
  in.dstZ = 1;
  in.WidthInBytes = 8;
  in.Height = 2;
  in.Depth = 2;
  CU_OK(cuMemcpy3D(&in));
  float row[2] = {};
  CUDA_MEMCPY2D out{};
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  out.srcXInBytes = 4;
  out.srcY = 2;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = row;
  out.WidthInBytes = 8;
  out.Height = 1;
  CU_OK(cuMemcpy2D(&out));  // of the first slice, which is empty
  EXPECT_THAT(row, testing::Each(0.0F));
  std::vector<float> box(8 * 4 * 3);
  CUDA_MEMCPY3D all{};
  all.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  all.srcArray = array;
  all.dstMemoryType = CU_MEMORYTYPE_HOST;
  all.dstHost = box.data();
  all.dstPitch = 32;
  all.dstHeight = 4;
  all.WidthInBytes = 32;
  all.Height = 4;
  all.Depth = 3;
  CU_OK(cuMemcpy3D(&all));
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 2; ++y)
      for (size_t x = 0; x < 2; ++x)
        EXPECT_EQ(box[(z + 1) * 32 + (y + 1) * 8 + x + 1], values[z * 4 + y * 2 + x]);
  EXPECT_EQ(std::accumulate(box.begin(), box.end(), 0.0F), 36.0F);
  in.dstXInBytes = 28;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&in));  // beyond the row
  in.dstXInBytes = 2;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&in));  // not at an element
  in.dstArray = nullptr;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuMemcpy3D(&in));
  CU_OK(cuArrayDestroy(array));
}

TEST_F(ArrayTest, given_a_copy_node_with_an_array_then_the_graph_copies_and_tells_its_parameters) {
  CUarray array = create(floats(4));
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUdeviceptr data = 0;
  CU_OK(cuMemAlloc(&data, 16));
  CU_OK(cuMemsetD32(data, 0x3f800000, 4));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = data;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 16;
  copy.Height = copy.Depth = 1;
  CU_OK(cuGraphCreate(&graph, 0));
  CU_OK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context_));
  CUDA_MEMCPY3D told{};
  CU_OK(cuGraphMemcpyNodeGetParams(node, &told));
  EXPECT_EQ(told.dstMemoryType, CU_MEMORYTYPE_ARRAY);
  EXPECT_EQ(told.dstArray, array);
  CU_OK(cuGraphInstantiate(&exec, graph, 0));
  CU_OK(cuGraphLaunch(exec, nullptr));
  float values[4] = {};
  CU_OK(cuMemcpyAtoH(values, array, 0, 16));
  EXPECT_THAT(values, testing::Each(1.0F));
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
  CU_OK(cuArrayDestroy(array));
}

TEST_F(ArrayTest, given_a_mipmapped_array_then_its_levels_halve_and_share_its_memory) {
  const size_t before = free_bytes();
  CUmipmappedArray mipmap = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR base = floats(64, 16);
  CU_OK(cuMipmappedArrayCreate(&mipmap, &base, 99));
  CUarray level = nullptr;
  CU_OK(cuMipmappedArrayGetLevel(&level, mipmap, 5));
  CUDA_ARRAY3D_DESCRIPTOR told{};
  CU_OK(cuArray3DGetDescriptor(&told, level));
  EXPECT_EQ(told.Width, 2U);
  EXPECT_EQ(told.Height, 1U);
  CU_OK(cuMipmappedArrayGetLevel(&level, mipmap, 6));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, mipmap, 7));
  CU_OK(cuMipmappedArrayGetLevel(&level, mipmap, 1));
  const auto values = counted(32);
  std::vector<float> back(32);
  CU_OK(cuMemcpyHtoA(level, 0, values.data(), 128));
  CU_OK(cuMemcpyAtoH(back.data(), level, 0, 128));
  EXPECT_EQ(back, values);
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(level));
  EXPECT_LT(free_bytes(), before);
  CU_OK(cuMipmappedArrayDestroy(mipmap));
  EXPECT_EQ(free_bytes(), before);
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayDestroy(mipmap));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuArray3DGetDescriptor(&told, level));
}

TEST_F(ArrayTest, given_the_context_goes_then_its_arrays_go) {
  CUcontext other = nullptr;
  CU_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CUarray array = create(floats(1 << 16, 64));
  CU_OK(cuCtxDestroy(other));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
}

}  // namespace
}  // namespace gacer::simdriver
