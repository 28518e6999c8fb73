// SPDX-License-Identifier: Apache-2.0
// Separable and general 2-D convolution with constant-memory filters; Sobel on bytes.
#include "program.h"

constexpr int kRadius = 3, kTile = 16;
__constant__ float filter[2 * kRadius + 1];
__constant__ float box[5][5];

__global__ void rows(const float* in, float* out, int w, int h) {
  __shared__ float line[kTile][kTile + 2 * kRadius];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int i = threadIdx.x; i < kTile + 2 * kRadius; i += kTile) {
    const int sx = static_cast<int>(blockIdx.x) * kTile + i - kRadius;
    line[threadIdx.y][i] = y < h && sx >= 0 && sx < w ? in[y * w + sx] : 0.0f;
  }
  __syncthreads();
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int i = -kRadius; i <= kRadius; ++i)
    sum += filter[i + kRadius] * line[threadIdx.y][threadIdx.x + i + kRadius];
  out[y * w + x] = sum;
}

__global__ void columns(const float* in, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
#pragma unroll
  for (int i = -kRadius; i <= kRadius; ++i)
    if (y + i >= 0 && y + i < h) sum += filter[i + kRadius] * in[(y + i) * w + x];
  out[y * w + x] = sum;
}

__global__ void general(const float* in, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      const int sx = min(max(x + dx, 0), w - 1), sy = min(max(y + dy, 0), h - 1);
      sum += box[dy + 2][dx + 2] * in[sy * w + sx];
    }
  out[y * w + x] = sum;
}

__global__ void sobel(const unsigned char* in, unsigned char* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  auto at = [&](int dx, int dy) { return static_cast<int>(in[(y + dy) * w + x + dx]); };
  const int gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
  const int gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
  out[y * w + x] = static_cast<unsigned char>(min(255, (abs(gx) + abs(gy)) / 2));
}

int main() {
  const int w = 83, h = 61;
  Random random(17);
  float weights[2 * kRadius + 1], square[5][5];
  for (float& v : weights) v = random.unit();
  for (auto& row : square)
    for (float& v : row) v = random.unit() - 0.5f;
  CHECK(cudaMemcpyToSymbol(filter, weights, sizeof weights));
  CHECK(cudaMemcpyToSymbol(box, square, sizeof square));
  std::vector<float> image(w * h), across(w * h), want(w * h), wide(w * h);
  std::vector<unsigned char> bytes(w * h), edges(w * h);
  for (float& v : image) v = random.unit();
  for (auto& v : bytes) v = static_cast<unsigned char>(random.next() >> 24);
  auto inside = [&](int x, int y) { return x >= 0 && y >= 0 && x < w && y < h; };
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      for (int i = -kRadius; i <= kRadius; ++i)
        if (inside(x + i, y)) across[y * w + x] += weights[i + kRadius] * image[y * w + x + i];
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      for (int i = -kRadius; i <= kRadius; ++i)
        if (inside(x, y + i)) want[y * w + x] += weights[i + kRadius] * across[(y + i) * w + x];
      for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx)
          wide[y * w + x] +=
              square[dy + 2][dx + 2] * image[std::min(std::max(y + dy, 0), h - 1) * w +
                                             std::min(std::max(x + dx, 0), w - 1)];
      if (!inside(x - 1, y - 1) || !inside(x + 1, y + 1)) continue;
      auto at = [&](int dx, int dy) { return int(bytes[(y + dy) * w + x + dx]); };
      const int gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
      const int gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
      edges[y * w + x] =
          static_cast<unsigned char>(std::min(255, (std::abs(gx) + std::abs(gy)) / 2));
    }
  const dim3 grid((w + 15) / 16, (h + 15) / 16), block(16, 16);
  DeviceArray<float> in(image), middle(w * h), out(w * h);
  rows<<<grid, block>>>(in.get(), middle.get(), w, h);
  columns<<<grid, block>>>(middle.get(), out.get(), w, h);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), want, 1e-5, 1e-5));
  general<<<grid, block>>>(in.get(), out.get(), w, h);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), wide, 1e-5, 1e-5));
  DeviceArray<unsigned char> bin(bytes), bout(w * h);
  bout.clear();
  sobel<<<grid, block>>>(bin.get(), bout.get(), w, h);
  CHECK_LAUNCH();
  EXPECT(same(bout.host(), edges));
  return passed("convolution");
}
