// SPDX-License-Identifier: Apache-2.0
// Matrix products: shared-memory tiles, register blocking with float4 loads, double precision.
#include "program.h"

template <typename T, int kTile>
__global__ void tiled(const T* a, const T* b, T* c, int m, int n, int k) {
  __shared__ T ta[kTile][kTile], tb[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  T sum = 0;
  for (int base = 0; base < k; base += kTile) {
    ta[threadIdx.y][threadIdx.x] =
        row < m && base + threadIdx.x < k ? a[row * k + base + threadIdx.x] : T(0);
    tb[threadIdx.y][threadIdx.x] =
        col < n && base + threadIdx.y < k ? b[(base + threadIdx.y) * n + col] : T(0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

// 64 x 64 results a block of 256 threads, 4 x 4 each; sizes are multiples of 64 and 16.
__global__ __launch_bounds__(256, 2) void blocked(const float* __restrict__ a,
                                                  const float* __restrict__ b,
                                                  float* __restrict__ c, int n, int k) {
  __shared__ float ta[16][64 + 4], tb[16][64];
  const int t = threadIdx.x, tx = t % 16, ty = t / 16;
  const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int base = 0; base < k; base += 16) {
    const float4 av = *reinterpret_cast<const float4*>(&a[(row0 + t / 4) * k + base + t % 4 * 4]);
    ta[t % 4 * 4 + 0][t / 4] = av.x, ta[t % 4 * 4 + 1][t / 4] = av.y;
    ta[t % 4 * 4 + 2][t / 4] = av.z, ta[t % 4 * 4 + 3][t / 4] = av.w;
    *reinterpret_cast<float4*>(&tb[t / 16][t % 16 * 4]) =
        *reinterpret_cast<const float4*>(&b[(base + t / 16) * n + col0 + t % 16 * 4]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float4 x = *reinterpret_cast<float4*>(&ta[i][ty * 4]);
      const float4 y = *reinterpret_cast<float4*>(&tb[i][tx * 4]);
      const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int q = 0; q < 4; ++q) sum[r][q] = fmaf(xs[r], ys[q], sum[r][q]);
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r)
    *reinterpret_cast<float4*>(&c[(row0 + ty * 4 + r) * n + col0 + tx * 4]) =
        make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

template <typename T>
std::vector<T> product(const std::vector<T>& a, const std::vector<T>& b, int m, int n, int k) {
  std::vector<double> c(size_t(m) * n);
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < k; ++p)
      for (int j = 0; j < n; ++j) c[i * n + j] += double(a[i * k + p]) * b[p * n + j];
  return {c.begin(), c.end()};
}

template <typename T>
std::vector<T> random_matrix(size_t count, uint32_t seed) {
  Random random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = random.unit() - 0.5f;
  return values;
}

template <typename T>
void check_tiled(int m, int n, int k, double relative) {
  const auto a = random_matrix<T>(size_t(m) * k, 1), b = random_matrix<T>(size_t(k) * n, 2);
  DeviceArray<T> da(a), db(b), dc(size_t(m) * n);
  tiled<T, 16>
      <<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(da.get(), db.get(), dc.get(), m, n, k);
  CHECK_LAUNCH();
  EXPECT(same(dc.host(), product(a, b, m, n, k), relative, relative * 10));
}

int main() {
  check_tiled<float>(75, 50, 61, 1e-5);
  check_tiled<double>(48, 33, 70, 1e-13);
  const int m = 128, n = 192, k = 80;
  const auto a = random_matrix<float>(m * k, 3), b = random_matrix<float>(k * n, 4);
  DeviceArray<float> da(a), db(b), dc(m * n);
  blocked<<<dim3(n / 64, m / 64), 256>>>(da.get(), db.get(), dc.get(), n, k);
  CHECK_LAUNCH();
  EXPECT(same(dc.host(), product(a, b, m, n, k), 1e-5, 1e-4));
  return passed("matmul");
}
