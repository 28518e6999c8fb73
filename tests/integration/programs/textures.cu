// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: bilinear resize, linear fetches, wrapped rotation, layered arrays.
#include "program.h"

__global__ void resize(cudaTextureObject_t image, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = tex2D<float>(image, (x + 0.5f) / w, (y + 0.5f) / h);
}

__global__ void fetch(cudaTextureObject_t table, const int* index, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float4>(table, index[i]);
}

__global__ void shift(cudaTextureObject_t image, cudaSurfaceObject_t out, int w, int h, int by) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const uchar4 pixel = tex2D<uchar4>(image, (x + by + 0.5f) / w, (y + 0.5f) / h);
  surf2Dwrite(make_uchar4(pixel.w, pixel.z, pixel.y, pixel.x), out, x * 4, y);
}

__global__ void layers(cudaTextureObject_t stack, int* out, int w, int h, int count) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
  if (x >= w || y >= h) return;
  int sum = 0;
  for (int layer = 0; layer < count; ++layer) sum += tex2DLayered<int>(stack, x, y, layer);
  out[y * w + x] = sum;
}

cudaTextureObject_t texture(const cudaResourceDesc& resource, cudaTextureFilterMode filter,
                            cudaTextureAddressMode address, bool normalised) {
  cudaTextureDesc desc{};
  for (auto& mode : desc.addressMode) mode = address;
  desc.filterMode = filter;
  desc.readMode = cudaReadModeElementType;
  desc.normalizedCoords = normalised;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &desc, nullptr));
  return object;
}

cudaResourceDesc of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

void check_resize() {
  const int w = 20, h = 12, ow = 47, oh = 31;
  Random random(24);
  std::vector<float> image(w * h), want(ow * oh);
  for (float& v : image) v = random.unit();
  cudaArray_t array;
  const auto format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &format, w, h));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  const auto object = texture(of(array), cudaFilterModeLinear, cudaAddressModeClamp, true);
  for (int y = 0; y < oh; ++y)
    for (int x = 0; x < ow; ++x) {
      const double fx = (x + 0.5) / ow * w - 0.5, fy = (y + 0.5) / oh * h - 0.5;
      const int x0 = int(std::floor(fx)), y0 = int(std::floor(fy));
      auto at = [&](int cx, int cy) {
        return image[std::min(std::max(cy, 0), h - 1) * w + std::min(std::max(cx, 0), w - 1)];
      };
      const double ax = fx - x0, ay = fy - y0;
      want[y * ow + x] = float((1 - ax) * (1 - ay) * at(x0, y0) + ax * (1 - ay) * at(x0 + 1, y0) +
                               (1 - ax) * ay * at(x0, y0 + 1) + ax * ay * at(x0 + 1, y0 + 1));
    }
  DeviceArray<float> out(ow * oh);
  resize<<<dim3(3, 4), dim3(16, 8)>>>(object, out.get(), ow, oh);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), want, 0, 2.0 / 256));  // weights have eight fractional bits
  CHECK(cudaDestroyTextureObject(object));
  CHECK(cudaFreeArray(array));
}

void check_fetch() {
  constexpr int kCount = 300;
  Random random(25);
  std::vector<float4> table(kCount);
  std::vector<int> index(kCount);
  for (int i = 0; i < kCount; ++i) {
    table[i] = make_float4(random.unit(), random.unit(), random.unit(), random.unit());
    index[i] = int(random.below(kCount));
  }
  DeviceArray<float4> data(table), out(kCount);
  DeviceArray<int> dindex(index);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {data.get(), cudaCreateChannelDesc<float4>(), data.bytes()};
  const auto object = texture(resource, cudaFilterModePoint, cudaAddressModeClamp, false);
  fetch<<<3, 100>>>(object, dindex.get(), out.get(), kCount);
  CHECK_LAUNCH();
  const auto got = out.host();
  for (int i = 0; i < kCount; ++i)
    EXPECT(got[i].x == table[index[i]].x && got[i].w == table[index[i]].w);
  CHECK(cudaDestroyTextureObject(object));
}

void check_surface() {
  const int w = 32, h = 9, by = 5;
  Random random(26);
  std::vector<uchar4> image(w * h), got(w * h);
  for (auto& p : image) {
    const unsigned r = random.next();
    p = make_uchar4(r & 255, r >> 8 & 255, r >> 16 & 255, r >> 24);
  }
  cudaArray_t in, out;
  const auto format = cudaCreateChannelDesc<uchar4>();
  CHECK(cudaMallocArray(&in, &format, w, h));
  CHECK(cudaMallocArray(&out, &format, w, h, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(in, 0, 0, image.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  const auto source = texture(of(in), cudaFilterModePoint, cudaAddressModeWrap, true);
  cudaSurfaceObject_t target;
  const auto resource = of(out);
  CHECK(cudaCreateSurfaceObject(&target, &resource));
  shift<<<dim3(2, 2), dim3(16, 8)>>>(source, target, w, h, by);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy2DFromArray(got.data(), w * 4, out, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      const uchar4 a = got[y * w + x], b = image[y * w + (x + by) % w];
      EXPECT(a.x == b.w && a.y == b.z && a.z == b.y && a.w == b.x);
    }
  CHECK(cudaDestroyTextureObject(source));
  CHECK(cudaDestroySurfaceObject(target));
  CHECK(cudaFreeArray(in));
  CHECK(cudaFreeArray(out));
}

void check_layers() {
  const int w = 40, h = 6, count = 3;
  std::vector<int> values(w * h * count), want(w * h);
  Random random(27);
  for (int i = 0; i < w * h * count; ++i) want[i % (w * h)] += values[i] = int(random.below(1000));
  cudaArray_t stack;
  const auto format = cudaCreateChannelDesc<int>();
  CHECK(cudaMalloc3DArray(&stack, &format, make_cudaExtent(w, h, count), cudaArrayLayered));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), w * sizeof(int), w, h);
  copy.dstArray = stack;
  copy.extent = make_cudaExtent(w, h, count);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  const auto object = texture(of(stack), cudaFilterModePoint, cudaAddressModeClamp, false);
  DeviceArray<int> out(w * h);
  layers<<<2, dim3(32, 6)>>>(object, out.get(), w, h, count);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), want));
  CHECK(cudaDestroyTextureObject(object));
  CHECK(cudaFreeArray(stack));
}

int main() {
  check_resize();
  check_fetch();
  check_surface();
  check_layers();
  return passed("textures");
}
