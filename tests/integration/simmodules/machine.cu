// SPDX-License-Identifier: Apache-2.0
__device__ int word = 11;
__constant__ float factors[2] = {0.5f, 4.0f};
__device__ int* to_word = &word;
__managed__ int shared_with_host = 5;

extern "C" __global__ void __launch_bounds__(128) add_all(int* data, short step, int n) {
  __shared__ int tile[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[threadIdx.x] = data[i] + step + word + *to_word;
  if (i < n) data[i] = tile[threadIdx.x] + static_cast<int>(factors[1]);
  if (i == 0) shared_with_host += 1;
}
