// SPDX-License-Identifier: Apache-2.0
// Pooling over NCHW planes.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

struct Window {
  const float* plane;
  int y_begin, y_end, x_begin, x_end;  // clipped to the input
};

__device__ __forceinline__ Window window_of(const PoolArgs& p, long long index) {
  const int area = p.out_h * p.out_w;
  const int position = static_cast<int>(index % area);
  const int y = position / p.out_w * p.stride - p.pad;
  const int x = position % p.out_w * p.stride - p.pad;
  return {p.input + index / area * p.in_h * p.in_w, max(y, 0), min(y + p.kernel, p.in_h), max(x, 0),
          min(x + p.kernel, p.in_w)};
}

GACER_GLOBAL(max_pool)(PoolArgs p) {
  const long long index = global_index();
  if (index >= static_cast<long long>(p.planes) * p.out_h * p.out_w) return;
  const Window w = window_of(p, index);
  float best = -3.402823466e38f;
  for (int y = w.y_begin; y < w.y_end; ++y)
    for (int x = w.x_begin; x < w.x_end; ++x) best = fmaxf(best, w.plane[y * p.in_w + x]);
  p.output[index] = best;
}

GACER_GLOBAL(avg_pool)(PoolArgs p) {
  const long long index = global_index();
  if (index >= static_cast<long long>(p.planes) * p.out_h * p.out_w) return;
  const Window w = window_of(p, index);
  float sum = 0.0f;
  for (int y = w.y_begin; y < w.y_end; ++y)
    for (int x = w.x_begin; x < w.x_end; ++x) sum += w.plane[y * p.in_w + x];
  p.output[index] = sum / static_cast<float>(p.kernel * p.kernel);
}

GACER_GLOBAL(global_avg_pool)(const float* input, float* output, int planes, int area) {
  const int plane = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (plane >= planes) return;
  const float* values = input + static_cast<long long>(plane) * area;
  float sum = 0.0f;
  for (int i = lane; i < area; i += 32) sum += values[i];
  sum = warp_sum(sum);
  if (lane == 0) output[plane] = sum / static_cast<float>(area);
}

}  // namespace gacer::kernels
