// SPDX-License-Identifier: Apache-2.0
// Row softmax, a warp per row.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

// input and output may be the same.
GACER_GLOBAL(softmax_rows)(const float* input, float* output, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* in = input + static_cast<long long>(row) * columns;
  float* out = output + static_cast<long long>(row) * columns;

  float best = -3.402823466e38f;
  for (int i = lane; i < columns; i += 32) best = fmaxf(best, in[i]);
  best = warp_max(best);
  float sum = 0.0f;
  for (int i = lane; i < columns; i += 32) {
    const float e = expf(in[i] - best);
    out[i] = e;
    sum += e;
  }
  const float scale = 1.0f / warp_sum(sum);
  for (int i = lane; i < columns; i += 32) out[i] *= scale;
}

}  // namespace gacer::kernels
