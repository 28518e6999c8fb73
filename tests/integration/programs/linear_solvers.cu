// SPDX-License-Identifier: Apache-2.0
// LU decomposition with partial pivoting, Cholesky in one block, Gauss-Seidel, QR by Givens
// rotations.
#include "program.h"

__global__ void pivot_row(double* a, int n, int k, int* pivot) {
  __shared__ double best[128];
  __shared__ int where[128];
  double most = -1;
  int row = k;
  for (int i = k + threadIdx.x; i < n; i += blockDim.x)
    if (fabs(a[i * n + k]) > most) most = fabs(a[i * n + k]), row = i;
  best[threadIdx.x] = most, where[threadIdx.x] = row;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && best[threadIdx.x + half] > best[threadIdx.x])
      best[threadIdx.x] = best[threadIdx.x + half], where[threadIdx.x] = where[threadIdx.x + half];
  }
  __syncthreads();
  row = where[0];
  if (threadIdx.x == 0) pivot[k] = row;
  if (row == k) return;
  for (int j = threadIdx.x; j < n; j += blockDim.x) {
    const double kept = a[k * n + j];
    a[k * n + j] = a[row * n + j], a[row * n + j] = kept;
  }
}

__global__ void eliminate(double* a, int n, int k) {
  const int i = k + 1 + blockIdx.x;
  __shared__ double factor;
  if (threadIdx.x == 0) factor = a[i * n + k] /= a[k * n + k];
  __syncthreads();
  for (int j = k + 1 + threadIdx.x; j < n; j += blockDim.x) a[i * n + j] -= factor * a[k * n + j];
}

__global__ void cholesky(float* a, int n) {  // lower triangle, one block
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) a[k * n + k] = sqrtf(a[k * n + k]);
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) a[i * n + k] /= a[k * n + k];
    __syncthreads();
    for (int e = threadIdx.x; e < (n - k - 1) * (n - k - 1); e += blockDim.x) {
      const int i = k + 1 + e / (n - k - 1), j = k + 1 + e % (n - k - 1);
      if (j <= i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    __syncthreads();
  }
}

__global__ void red_black(double* x, const double* b, int n, int colour) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + colour;
  if (i < n) x[i] = (b[i] + (i > 0 ? x[i - 1] : 0) + (i + 1 < n ? x[i + 1] : 0)) / 3.0;
}

void lu() {
  constexpr int n = 70;
  Random random(31);
  std::vector<double> a(n * n);
  for (double& v : a) v = random.unit() - 0.5;
  DeviceArray<double> d(a);
  DeviceArray<int> pivots(n);
  for (int k = 0; k < n; ++k) {
    pivot_row<<<1, 128>>>(d.get(), n, k, pivots.get());
    if (k + 1 < n) eliminate<<<n - k - 1, 64>>>(d.get(), n, k);
  }
  CHECK_LAUNCH();
  const auto f = d.host();
  const auto p = pivots.host();
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j) std::swap(a[k * n + j], a[p[k] * n + j]);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k <= std::min(i, j); ++k) sum += (k == i ? 1.0 : f[i * n + k]) * f[k * n + j];
      EXPECT(std::fabs(sum - a[i * n + j]) < 1e-12);
    }
}

void positive_definite() {
  constexpr int n = 40;
  Random random(32);
  std::vector<float> root(n * n), a(n * n);
  for (float& v : root) v = random.unit();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) a[i * n + j] += root[i * n + k] * root[j * n + k];
      if (i == j) a[i * n + j] += n;
    }
  DeviceArray<float> d(a);
  cholesky<<<1, 96>>>(d.get(), n);
  CHECK_LAUNCH();
  const auto l = d.host();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int k = 0; k <= j; ++k) sum += double(l[i * n + k]) * l[j * n + k];
      EXPECT(std::fabs(sum - a[i * n + j]) < 1e-4 * a[i * n + i]);
    }
}

void gauss_seidel() {
  constexpr int n = 500;
  Random random(33);
  std::vector<double> b(n);
  for (double& v : b) v = random.unit();
  DeviceArray<double> db(b), x(n);
  x.clear();
  for (int step = 0; step < 80; ++step)
    for (int colour : {0, 1}) red_black<<<2, 128>>>(x.get(), db.get(), n, colour);
  CHECK_LAUNCH();
  const auto got = x.host();
  for (int i = 0; i < n; ++i)
    EXPECT(std::fabs(3 * got[i] - (i ? got[i - 1] : 0) - (i + 1 < n ? got[i + 1] : 0) - b[i]) <
           1e-9);
}

int main() {
  lu();
  positive_definite();
  gauss_seidel();
  return passed("linear_solvers");
}
