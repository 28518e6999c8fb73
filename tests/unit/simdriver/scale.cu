// SPDX-License-Identifier: Apache-2.0
// Long enough that nvcc finds something to compress.
extern "C" __global__ void scale(const float* in, float* out, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] * factor;
}
extern "C" __global__ void shift(const float* in, float* out, float offset, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] + offset;
}
