// SPDX-License-Identifier: Apache-2.0
// Matrix transposition through padded tiles, for three element types, sizes that do not fit tiles.
#include "program.h"

constexpr int kTile = 32, kRows = 8;

template <typename T>
__global__ void transpose(const T* in, T* out, int width, int height) {
  __shared__ T tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  for (int r = threadIdx.y; r < kTile; r += kRows) {
    const int y = blockIdx.y * kTile + r;
    if (x < width && y < height) tile[r][threadIdx.x] = in[static_cast<size_t>(y) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  for (int r = threadIdx.y; r < kTile; r += kRows) {
    const int y = blockIdx.x * kTile + r;
    if (x < height && y < width) out[static_cast<size_t>(y) * height + x] = tile[threadIdx.x][r];
  }
}

template <typename T>
void check(int width, int height) {
  std::vector<T> values(static_cast<size_t>(width) * height), want(values.size());
  Random random(5);
  for (T& value : values) value = static_cast<T>(random.next());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) want[x * height + y] = values[y * width + x];
  DeviceArray<T> in(values), out(values.size());
  const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  transpose<<<grid, dim3(kTile, kRows)>>>(in.get(), out.get(), width, height);
  CHECK_LAUNCH();
  EXPECT(same(out.host(), want));
}

int main() {
  check<float>(256, 128);
  check<unsigned char>(101, 67);
  check<double>(33, 95);
  check<short>(1, 300);
  return passed("transpose");
}
