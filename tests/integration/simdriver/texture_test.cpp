// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects of the driver API, with kernels that nvcc compiled.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

using Point = std::array<float, 4>;

class TextureTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    std::ifstream file(TEXTURE_PTX);
    std::stringstream text;
    text << file.rdbuf();
    CU_OK(cuModuleLoadData(&kernels_, text.str().c_str()));
  }

  template <typename T>
  CUdeviceptr upload(const std::vector<T>& values) {
    CUdeviceptr out = 0;
    EXPECT_EQ(cuMemAlloc(&out, values.size() * sizeof(T)), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyHtoD(out, values.data(), values.size() * sizeof(T)), CUDA_SUCCESS);
    return out;
  }

  CUarray make_array(size_t width, size_t height, size_t depth, unsigned flags,
                     CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned channels = 1) {
    const CUDA_ARRAY3D_DESCRIPTOR d{width, height, depth, format, channels, flags};
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate(&array, &d), CUDA_SUCCESS);
    return array;
  }

  // Elements row by row, from `width` elements of T a row.
  template <typename T>
  void fill(CUarray array, const std::vector<T>& values, size_t width, size_t height,
            size_t depth = 1) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = values.data();
    copy.srcPitch = copy.WidthInBytes = width * sizeof(T);
    copy.srcHeight = copy.Height = height;
    copy.Depth = depth;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    CU_OK(cuMemcpy3D(&copy));
  }
  template <typename T>
  std::vector<T> read(CUarray array, size_t width, size_t height, size_t depth = 1) {
    std::vector<T> out(width * height * depth);
    CUDA_MEMCPY3D copy{};
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = out.data();
    copy.dstPitch = copy.WidthInBytes = width * sizeof(T);
    copy.dstHeight = copy.Height = height;
    copy.Depth = depth;
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
    return out;
  }

  static CUDA_RESOURCE_DESC resource(CUarray array) {
    CUDA_RESOURCE_DESC d{};
    d.resType = CU_RESOURCE_TYPE_ARRAY;
    d.res.array.hArray = array;
    return d;
  }
  static CUDA_TEXTURE_DESC sampler(CUfilter_mode filter, unsigned flags,
                                   CUaddress_mode mode = CU_TR_ADDRESS_MODE_CLAMP) {
    CUDA_TEXTURE_DESC d{};
    for (auto& m : d.addressMode) m = mode;
    d.filterMode = filter;
    d.flags = flags;
    return d;
  }
  CUtexObject make_texture(const CUDA_RESOURCE_DESC& from, const CUDA_TEXTURE_DESC& how) {
    CUtexObject out = 0;
    EXPECT_EQ(cuTexObjectCreate(&out, &from, &how, nullptr), CUDA_SUCCESS);
    return out;
  }
  CUsurfObject make_surface(CUarray array) {
    const CUDA_RESOURCE_DESC from = resource(array);
    CUsurfObject out = 0;
    EXPECT_EQ(cuSurfObjectCreate(&out, &from), CUDA_SUCCESS);
    return out;
  }

  // out[i] = kernel(texture, at[i])
  template <typename T, typename At>
  std::vector<T> fetch(const char* name, CUtexObject texture, const std::vector<At>& at) {
    CUfunction kernel = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&kernel, kernels_, name), CUDA_SUCCESS);
    CUdeviceptr in = upload(at), out = 0;
    EXPECT_EQ(cuMemAlloc(&out, at.size() * sizeof(T)), CUDA_SUCCESS);
    int count = static_cast<int>(at.size());
    void* params[] = {&texture, &out, &in, &count};
    const auto blocks = static_cast<unsigned>((at.size() + 31) / 32);
    EXPECT_EQ(cuLaunchKernel(kernel, blocks, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr),
              CUDA_SUCCESS);
    std::vector<T> result(at.size());
    EXPECT_EQ(cuMemcpyDtoH(result.data(), out, result.size() * sizeof(T)), CUDA_SUCCESS);
    return result;
  }

  CUmodule kernels_ = nullptr;
};

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST_F(TextureTest, given_linear_memory_then_integers_fetch_its_elements_and_zero_beyond) {
  const auto values = counted(100);
  CUDA_RESOURCE_DESC from{};
  from.resType = CU_RESOURCE_TYPE_LINEAR;
  from.res.linear = {upload(values), CU_AD_FORMAT_FLOAT, 1, 100 * sizeof(float)};
  CUtexObject texture = make_texture(from, sampler(CU_TR_FILTER_MODE_POINT, 0));
  CUfunction kernel = nullptr;
  CU_OK(cuModuleGetFunction(&kernel, kernels_, "fetch_linear"));
  CUdeviceptr out = upload(std::vector<float>(128, -1.0F));
  int count = 128;
  void* params[] = {&texture, &out, &count};
  CU_OK(cuLaunchKernel(kernel, 4, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
  std::vector<float> got(128);
  CU_OK(cuMemcpyDtoH(got.data(), out, 128 * sizeof(float)));
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i < 100 ? values[i] : 0.0F);
  CU_OK(cuTexObjectDestroy(texture));
}

TEST_F(TextureTest, given_an_array_of_four_channels_then_a_linear_filter_blends_neighbours) {
  const CUarray array = make_array(8, 4, 0, 0, CU_AD_FORMAT_FLOAT, 4);
  std::vector<Point> elements;
  for (int i = 0; i < 32; ++i)
    elements.push_back(
        {static_cast<float>(i), static_cast<float>(-i), 1, static_cast<float>(i % 8)});
  fill(array, elements, 8, 4);
  const CUtexObject texture = make_texture(resource(array), sampler(CU_TR_FILTER_MODE_LINEAR, 0));
  const std::vector<std::array<float, 2>> at = {{0.5F, 0.5F}, {1.0F, 0.5F}, {3.25F, 2.0F}, {-4, 9}};
  const auto got = fetch<Point>("fetch_2d", texture, at);
  EXPECT_EQ(got[0], elements[0]);
  EXPECT_EQ(got[1], (Point{0.5F, -0.5F, 1, 0.5F}));
  EXPECT_EQ(got[2], (Point{14.75F, -14.75F, 1, 2.75F}));
  EXPECT_EQ(got[3], elements[24]);
}

TEST_F(TextureTest, given_bytes_then_they_read_as_integers_or_as_fractions) {
  const CUarray array = make_array(4, 1, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4);
  fill(array, std::vector<std::array<uint8_t, 4>>{{0, 51, 102, 255}, {1, 2, 3, 4}, {}, {}}, 4, 1);
  const std::vector<std::array<float, 2>> at = {{0.5F, 0.5F}, {1.5F, 0.5F}};
  const CUtexObject integers =
      make_texture(resource(array), sampler(CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
  const auto bytes = fetch<std::array<uint8_t, 4>>("fetch_bytes", integers, at);
  EXPECT_EQ(bytes[0], (std::array<uint8_t, 4>{0, 51, 102, 255}));
  EXPECT_EQ(bytes[1], (std::array<uint8_t, 4>{1, 2, 3, 4}));
  const CUtexObject fractions = make_texture(resource(array), sampler(CU_TR_FILTER_MODE_LINEAR, 0));
  EXPECT_EQ(fetch<Point>("fetch_2d", fractions, at)[0], (Point{0, 0.2F, 0.4F, 1}));
}

TEST_F(TextureTest, given_pitched_memory_and_wrapping_then_coordinates_repeat) {
  CUdeviceptr memory = 0;
  size_t pitch = 0;
  CU_OK(cuMemAllocPitch(&memory, &pitch, 16 * sizeof(float), 8, 4));
  const auto values = counted(16 * 8);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = values.data();
  copy.srcPitch = copy.WidthInBytes = 16 * sizeof(float);
  copy.Height = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.dstPitch = pitch;
  CU_OK(cuMemcpy2D(&copy));
  CUDA_RESOURCE_DESC from{};
  from.resType = CU_RESOURCE_TYPE_PITCH2D;
  from.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 16, 8, pitch};
  const CUtexObject texture = make_texture(
      from,
      sampler(CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES, CU_TR_ADDRESS_MODE_WRAP));
  const auto got = fetch<Point>(
      "fetch_2d", texture,
      std::vector<std::array<float, 2>>{{3.5F / 16, 2.5F / 8}, {3.5F / 16 + 2, 2.5F / 8 - 1}});
  EXPECT_EQ(got[0][0], values[2 * 16 + 3]);
  EXPECT_EQ(got[1][0], values[2 * 16 + 3]);
}

TEST_F(TextureTest, given_volumes_layers_and_cubes_then_each_is_fetched_its_way) {
  const auto values = counted(4 * 4 * 6);
  const auto element = [&](int x, int y, int z) {
    return values[static_cast<size_t>((z * 4 + y) * 4 + x)];
  };
  const CUarray volume = make_array(4, 4, 6, 0);
  fill(volume, values, 4, 4, 6);
  const CUtexObject in_space = make_texture(resource(volume), sampler(CU_TR_FILTER_MODE_LINEAR, 0));
  const auto between =
      fetch<float>("fetch_3d", in_space, std::vector<Point>{{1.5F, 2.5F, 3.0F, 0}});
  EXPECT_EQ(between[0], (element(1, 2, 2) + element(1, 2, 3)) / 2);
  const CUarray layers = make_array(4, 4, 6, CUDA_ARRAY3D_LAYERED);
  fill(layers, values, 4, 4, 6);
  const CUtexObject layered = make_texture(resource(layers), sampler(CU_TR_FILTER_MODE_POINT, 0));
  const auto one = fetch<float>("fetch_layer", layered, std::vector<Point>{{3.5F, 0.5F, 5, 0}});
  EXPECT_EQ(one[0], element(3, 0, 5));
  const CUarray cube = make_array(4, 4, 6, CUDA_ARRAY3D_CUBEMAP);
  fill(cube, values, 4, 4, 6);
  const CUtexObject faces = make_texture(
      resource(cube), sampler(CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES));
  const auto face = fetch<float>("fetch_cube", faces,
                                 std::vector<Point>{{0.1F, -1, 0.1F, 0}, {0.1F, 0.1F, 1, 0}});
  EXPECT_EQ(face[0], element(2, 1, 3));
  EXPECT_EQ(face[1], element(2, 1, 4));
}

TEST_F(TextureTest, given_a_mipmapped_array_then_levels_are_chosen_and_viewed) {
  const CUDA_ARRAY3D_DESCRIPTOR d{8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUmipmappedArray mipmap = nullptr;
  CU_OK(cuMipmappedArrayCreate(&mipmap, &d, 3));
  for (unsigned i = 0; i < 3; ++i) {
    CUarray level = nullptr;
    CU_OK(cuMipmappedArrayGetLevel(&level, mipmap, i));
    const size_t n = 8U >> i;
    fill(level, std::vector<float>(n * n, static_cast<float>(i * 10)), n, n);
  }
  CUDA_RESOURCE_DESC from{};
  from.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  from.res.mipmap.hMipmappedArray = mipmap;
  CUDA_TEXTURE_DESC how = sampler(CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
  how.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  how.maxMipmapLevelClamp = 10;
  const std::vector<Point> at = {{0.5F, 0.5F, 0, 0}, {0.5F, 0.5F, 1.5F, 0}, {0.5F, 0.5F, 7, 0}};
  EXPECT_THAT(fetch<float>("fetch_level", make_texture(from, how), at),
              testing::ElementsAre(0.0F, 15.0F, 20.0F));
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = view.height = 4;
  view.firstMipmapLevel = 1;
  view.lastMipmapLevel = 2;
  CUtexObject texture = 0;
  CU_OK(cuTexObjectCreate(&texture, &from, &how, &view));
  EXPECT_THAT(fetch<float>("fetch_level", texture, at), testing::ElementsAre(10.0F, 20.0F, 20.0F));
  CUDA_RESOURCE_VIEW_DESC told{};
  CU_OK(cuTexObjectGetResourceViewDesc(&told, texture));
  EXPECT_EQ(told.firstMipmapLevel, 1U);
  CU_OK(cuMipmappedArrayDestroy(mipmap));
}

TEST_F(TextureTest, given_two_surfaces_then_a_kernel_transposes_one_into_the_other) {
  const CUarray wide = make_array(20, 9, 0, CUDA_ARRAY3D_SURFACE_LDST),
                tall = make_array(9, 20, 0, CUDA_ARRAY3D_SURFACE_LDST);
  const auto values = counted(180);
  fill(wide, values, 20, 9);
  CUsurfObject from = make_surface(wide), to = make_surface(tall);
  CUfunction kernel = nullptr;
  CU_OK(cuModuleGetFunction(&kernel, kernels_, "transpose"));
  int width = 20, height = 9;
  void* params[] = {&from, &to, &width, &height};
  CU_OK(cuLaunchKernel(kernel, 3, 2, 1, 8, 8, 1, 0, nullptr, params, nullptr));
  const auto got = read<float>(tall, 9, 20);
  for (size_t y = 0; y < 9; ++y)
    for (size_t x = 0; x < 20; ++x) EXPECT_EQ(got[x * 9 + y], values[y * 20 + x] + 1);
  CU_OK(cuSurfObjectDestroy(from));
  CU_OK(cuSurfObjectDestroy(to));
}

TEST_F(TextureTest, given_a_layered_surface_then_writes_reach_their_layer) {
  const CUarray array = make_array(4, 3, 5, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED,
                                   CU_AD_FORMAT_SIGNED_INT16, 2);
  CUsurfObject surface = make_surface(array);
  CUfunction kernel = nullptr;
  CU_OK(cuModuleGetFunction(&kernel, kernels_, "write_layers"));
  int width = 4, height = 3;
  void* params[] = {&surface, &width, &height};
  CU_OK(cuLaunchKernel(kernel, 5, 1, 1, 8, 4, 1, 0, nullptr, params, nullptr));
  const auto got = read<std::array<int16_t, 2>>(array, 4, 3, 5);
  for (int z = 0; z < 5; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x)
        EXPECT_EQ(got[static_cast<size_t>((z * 3 + y) * 4 + x)],
                  (std::array<int16_t, 2>{static_cast<int16_t>(x + y), static_cast<int16_t>(z)}));
}

TEST_F(TextureTest, given_a_texture_destroyed_after_the_launch_then_the_launch_still_has_it) {
  const auto values = counted(100);
  CUDA_RESOURCE_DESC from{};
  from.resType = CU_RESOURCE_TYPE_LINEAR;
  from.res.linear = {upload(values), CU_AD_FORMAT_FLOAT, 1, 100 * sizeof(float)};
  CUtexObject texture = make_texture(from, sampler(CU_TR_FILTER_MODE_POINT, 0));
  CUfunction kernel = nullptr;
  CU_OK(cuModuleGetFunction(&kernel, kernels_, "fetch_linear"));
  CUdeviceptr out = upload(std::vector<float>(32));
  int count = 32;
  void* params[] = {&texture, &out, &count};
  CU_OK(spin(20'000));
  CU_OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
  CU_OK(cuTexObjectDestroy(texture));
  std::vector<float> got(32);
  CU_OK(cuMemcpyDtoH(got.data(), out, 32 * sizeof(float)));
  EXPECT_EQ(got[31], values[31]);
}

TEST_F(TextureTest, given_wrong_descriptors_then_they_are_refused) {
  const CUarray array = make_array(8, 8, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32);
  const CUDA_RESOURCE_DESC good = resource(array);
  const CUDA_TEXTURE_DESC point = sampler(CU_TR_FILTER_MODE_POINT, 0);
  CUtexObject texture = 0;
  const auto refused = [&](const CUDA_RESOURCE_DESC& from, const CUDA_TEXTURE_DESC& how,
                           CUresult code) {
    CU_IS(code, cuTexObjectCreate(&texture, &from, &how, nullptr));
  };
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(nullptr, &good, &point, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, nullptr, &point, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, &good, nullptr, nullptr));
  refused(resource(nullptr), point, CUDA_ERROR_INVALID_HANDLE);
  // Integers cannot be filtered.
  refused(good, sampler(CU_TR_FILTER_MODE_LINEAR, 0), CUDA_ERROR_INVALID_VALUE);
  refused(good, sampler(CU_TR_FILTER_MODE_POINT, 0x100), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC linear{};
  linear.resType = CU_RESOURCE_TYPE_LINEAR;
  linear.res.linear = {upload(counted(64)) + 4, CU_AD_FORMAT_FLOAT, 1, 128};
  refused(linear, point, CUDA_ERROR_INVALID_VALUE);
  linear.res.linear.devPtr = 1 << 20;
  refused(linear, point, CUDA_ERROR_INVALID_VALUE);
  CUsurfObject surface = 0;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&surface, &good));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(12345));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(12345));
  texture = make_texture(good, point);
  CUDA_RESOURCE_DESC told{};
  CU_OK(cuTexObjectGetResourceDesc(&told, texture));
  EXPECT_EQ(told.res.array.hArray, array);
  CUDA_TEXTURE_DESC how{};
  CU_OK(cuTexObjectGetTextureDesc(&how, texture));
  EXPECT_EQ(how.addressMode[0], CU_TR_ADDRESS_MODE_CLAMP);
  CUDA_RESOURCE_VIEW_DESC view{};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceViewDesc(&view, texture));
  CU_OK(cuTexObjectDestroy(texture));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceDesc(&told, texture));
}

}  // namespace
}  // namespace gacer::simdriver
