// SPDX-License-Identifier: Apache-2.0
// Jacobi iterations on a plate (2-D, shared tiles with halo) and a 3-D 25-point stencil.
#include "program.h"

constexpr int kTile = 16;

__global__ void jacobi(const float* in, float* out, int width, int height, float* change) {
  __shared__ float tile[kTile + 2][kTile + 2];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  auto at = [&](int cx, int cy) {
    cx = min(max(cx, 0), width - 1), cy = min(max(cy, 0), height - 1);
    return in[cy * width + cx];
  };
  tile[ty][tx] = at(x, y);
  if (threadIdx.x == 0) tile[ty][0] = at(x - 1, y);
  if (threadIdx.x == kTile - 1) tile[ty][kTile + 1] = at(x + 1, y);
  if (threadIdx.y == 0) tile[0][tx] = at(x, y - 1);
  if (threadIdx.y == kTile - 1) tile[kTile + 1][tx] = at(x, y + 1);
  __syncthreads();
  if (x >= width || y >= height) return;
  float value = tile[ty][tx];
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
    value = 0.25f * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
    // Non-negative floats compare as integers.
    atomicMax(reinterpret_cast<int*>(change), __float_as_int(fabsf(value - tile[ty][tx])));
  }
  out[y * width + x] = value;
}

constexpr int kRadius = 4;
__constant__ float weight[kRadius + 1];

__global__ void star(const float* in, float* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + kRadius;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + kRadius;
  if (x >= nx - kRadius || y >= ny - kRadius) return;
  const int row = nx, plane = nx * ny;
  float column[2 * kRadius + 1];
  for (int i = 0; i < 2 * kRadius; ++i) column[i + 1] = in[i * plane + y * row + x];
  for (int z = kRadius; z < nz - kRadius; ++z) {
#pragma unroll
    for (int i = 0; i < 2 * kRadius; ++i) column[i] = column[i + 1];
    const int at = z * plane + y * row + x;
    column[2 * kRadius] = in[at + kRadius * plane];
    float sum = weight[0] * column[kRadius];
#pragma unroll
    for (int r = 1; r <= kRadius; ++r)
      sum += weight[r] * (column[kRadius - r] + column[kRadius + r] + in[at - r] + in[at + r] +
                          in[at - r * row] + in[at + r * row]);
    out[at] = sum;
  }
}

void plate() {
  constexpr int kWidth = 70, kHeight = 50, kSteps = 30;
  std::vector<float> a(kWidth * kHeight), b;
  for (int x = 0; x < kWidth; ++x) a[x] = 100;
  DeviceArray<float> in(a), out(a.size()), change(1);
  float *from = in.get(), *to = out.get();
  float last = 0;
  for (int step = 0; step < kSteps; ++step, std::swap(from, to)) {
    change.clear();
    jacobi<<<dim3((kWidth + 15) / 16, (kHeight + 15) / 16), dim3(16, 16)>>>(from, to, kWidth,
                                                                            kHeight, change.get());
  }
  CHECK_LAUNCH();
  for (int step = 0; step < kSteps; ++step) {
    b = a;
    last = 0;
    for (int y = 1; y < kHeight - 1; ++y)
      for (int x = 1; x < kWidth - 1; ++x) {
        const int i = y * kWidth + x;
        b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - kWidth] + a[i + kWidth]);
        last = std::max(last, std::fabs(b[i] - a[i]));
      }
    a.swap(b);
  }
  std::vector<float> got(a.size());
  CHECK(cudaMemcpy(got.data(), from, got.size() * sizeof(float), cudaMemcpyDefault));
  EXPECT(same(got, a, 1e-6, 1e-6));
  EXPECT(std::fabs(change.host()[0] - last) <= 1e-5f * last);
}

void volume() {
  constexpr int kX = 40, kY = 28, kZ = 20;
  const float weights[kRadius + 1] = {-3.f, 0.8f, -0.1f, 0.02f, -0.003f};
  CHECK(cudaMemcpyToSymbol(weight, weights, sizeof weights));
  std::vector<float> a(kX * kY * kZ), want(a.size());
  Random random(4);
  for (float& value : a) value = random.unit();
  for (int z = kRadius; z < kZ - kRadius; ++z)
    for (int y = kRadius; y < kY - kRadius; ++y)
      for (int x = kRadius; x < kX - kRadius; ++x) {
        const int i = (z * kY + y) * kX + x;
        double sum = weights[0] * a[i];
        for (int r = 1; r <= kRadius; ++r)
          for (int step : {1, kX, kX * kY}) sum += weights[r] * (a[i - r * step] + a[i + r * step]);
        want[i] = static_cast<float>(sum);
      }
  DeviceArray<float> in(a), out(a.size());
  out.clear();
  star<<<dim3(2, 3), dim3(16, 8)>>>(in.get(), out.get(), kX, kY, kZ);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), want, 1e-5, 1e-5));
}

int main() {
  plate();
  volume();
  return passed("stencil");
}
