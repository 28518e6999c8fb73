// SPDX-License-Identifier: Apache-2.0
// Matrix products on tensor cores: half, bfloat16 and int8 through wmma, with shared-memory
// staging.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "program.h"

using namespace nvcuda;

template <typename In, typename Out>
__global__ void warp_product(const In* a, const In* b, Out* c, int m, int n, int k, Out scale) {
  const int warp_m = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16;
  const int warp_n = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
  if (warp_m >= m || warp_n >= n) return;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, In, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, In, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Out> acc, old;
  wmma::fill_fragment(acc, Out(0));
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + warp_m * k + i, k);
    wmma::load_matrix_sync(fb, b + warp_n * k + i, k);
    wmma::mma_sync(acc, fa, fb, acc);
  }
  wmma::load_matrix_sync(old, c + warp_m * n + warp_n, n, wmma::mem_row_major);
  for (int i = 0; i < acc.num_elements; ++i) acc.x[i] = acc.x[i] * scale + old.x[i];
  wmma::store_matrix_sync(c + warp_m * n + warp_n, acc, n, wmma::mem_row_major);
}

__global__ void staged(const half* a, const half* b, half* c, int n, int k) {
  __shared__ half ta[64][16 + 8], tb[16][64 + 8];
  const int warp = threadIdx.x / 32, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> acc[4];
  for (auto& part : acc) wmma::fill_fragment(part, __float2half(0));
  for (int base = 0; base < k; base += 16) {
    for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) {
      ta[i / 16][i % 16] = a[(row0 + i / 16) * k + base + i % 16];
      tb[i / 64][i % 64] = b[(base + i / 64) * n + col0 + i % 64];
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::load_matrix_sync(fa, &ta[warp * 16][0], 24);
    for (int j = 0; j < 4; ++j) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
      wmma::load_matrix_sync(fb, &tb[0][j * 16], 72);
      wmma::mma_sync(acc[j], fa, fb, acc[j]);
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    wmma::store_matrix_sync(c + (row0 + warp * 16) * n + col0 + j * 16, acc[j], n,
                            wmma::mem_row_major);
}

template <typename In>
float number(In value) {
  return static_cast<float>(value);
}

template <typename In, typename Out>
void check(float range, double relative) {
  const int m = 64, n = 96, k = 80;
  Random random(3);
  std::vector<In> a(m * k), b(n * k);  // b by columns
  std::vector<Out> c(m * n);
  for (In& v : a) v = In(float(int((random.unit() - 0.5f) * range)) / (range > 100 ? 1 : 8));
  for (In& v : b) v = In(float(int((random.unit() - 0.5f) * range)) / (range > 100 ? 1 : 8));
  for (Out& v : c) v = Out(int(random.below(5)));
  std::vector<double> want(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int p = 0; p < k; ++p) sum += double(number(a[i * k + p])) * number(b[j * k + p]);
      want[i * n + j] = sum * 2 + double(c[i * n + j]);
    }
  DeviceArray<In> da(a), db(b);
  DeviceArray<Out> dc(c);
  warp_product<<<dim3(m / 64, n / 32), dim3(128, 2)>>>(da.get(), db.get(), dc.get(), m, n, k,
                                                       Out(2));
  CHECK_LAUNCH();
  EXPECT(same(dc.host(), want, relative));
}

void check_staged() {
  const int m = 128, n = 64, k = 48;
  Random random(5);
  std::vector<half> a(m * k), b(k * n);
  for (half& v : a) v = __float2half(float(int(random.below(9)) - 4) / 4);
  for (half& v : b) v = __float2half(float(int(random.below(9)) - 4) / 4);
  std::vector<float> want(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int p = 0; p < k; ++p)
        want[i * n + j] += __half2float(a[i * k + p]) * __half2float(b[p * n + j]);
  DeviceArray<half> da(a), db(b), dc(m * n);
  staged<<<dim3(n / 64, m / 64), 128>>>(da.get(), db.get(), dc.get(), n, k);
  CHECK_LAUNCH();
  std::vector<float> got;
  for (half v : dc.host()) got.push_back(__half2float(v));
  EXPECT(same(got, want));  // multiples of 1/16 below 128: exact in half
}

int main() {
  check<half, float>(64, 1e-6);
  check<__nv_bfloat16, float>(64, 1e-6);
  check<signed char, int>(254, 0);
  check_staged();
  return passed("matmul_tensor");
}
