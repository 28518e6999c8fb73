// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void

__device__ int index() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

KERNEL fetch_linear(cudaTextureObject_t texture, float* out, int count) {
  if (index() < count) out[index()] = tex1Dfetch<float>(texture, index());
}
KERNEL fetch_2d(cudaTextureObject_t texture, float4* out, const float2* at, int count) {
  if (index() < count) out[index()] = tex2D<float4>(texture, at[index()].x, at[index()].y);
}
KERNEL fetch_bytes(cudaTextureObject_t texture, uchar4* out, const float2* at, int count) {
  if (index() < count) out[index()] = tex2D<uchar4>(texture, at[index()].x, at[index()].y);
}
KERNEL fetch_3d(cudaTextureObject_t texture, float* out, const float4* at, int count) {
  const float4 p = at[index()];
  if (index() < count) out[index()] = tex3D<float>(texture, p.x, p.y, p.z);
}
KERNEL fetch_layer(cudaTextureObject_t texture, float* out, const float4* at, int count) {
  const float4 p = at[index()];
  if (index() < count) out[index()] = tex2DLayered<float>(texture, p.x, p.y, static_cast<int>(p.z));
}
KERNEL fetch_cube(cudaTextureObject_t texture, float* out, const float4* at, int count) {
  const float4 p = at[index()];
  if (index() < count) out[index()] = texCubemap<float>(texture, p.x, p.y, p.z);
}
KERNEL fetch_level(cudaTextureObject_t texture, float* out, const float4* at, int count) {
  const float4 p = at[index()];
  if (index() < count) out[index()] = tex2DLod<float>(texture, p.x, p.y, p.z);
}
// Each thread moves one element of a surface to another place, through both kinds of surface.
KERNEL transpose(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  float value = 0;
  surf2Dread(&value, from, x * 4, y);
  surf2Dwrite(value + 1, to, y * 4, x);
}
KERNEL write_layers(cudaSurfaceObject_t surface, int width, int height) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y),
            z = static_cast<int>(blockIdx.x);
  if (x < width && y < height)
    surf2DLayeredwrite(make_short2(static_cast<short>(x + y), static_cast<short>(z)), surface,
                       x * 4, y, z);
}
