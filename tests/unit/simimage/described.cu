// SPDX-License-Identifier: Apache-2.0
// Parameters, limits and variables that cubin_test.cpp knows.
struct Big {
  char data[5000];
};
__device__ int table[4] = {1, 2, 3, 4};
__device__ float zeroes[10];
__constant__ float factors[3] = {1.5f, 2.5f, 3.5f};
__device__ int* into_table = &table[2];
__managed__ int shared_with_host = 5;

extern "C" __global__ void __launch_bounds__(256, 2)
    mixed(const float* in, float* out, Big big, char c, double d) {
  __shared__ float tile[100];
  tile[threadIdx.x % 100] = in[0] * c;
  __syncthreads();
  out[threadIdx.x] = tile[0] + factors[threadIdx.x % 3] + big.data[threadIdx.x] + table[0] +
                     *into_table + zeroes[2] + d + shared_with_host;
}
extern "C" __global__ void stacked(int* p) {
  int local[200];
  for (int i = 0; i < 200; i++) local[i] = p[i];
  p[0] = local[p[3] % 200];
}
extern "C" __global__ void bare() {}
