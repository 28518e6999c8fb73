// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: one thread per output value.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

template <int KERNEL>  // 0: size from the arguments
__device__ __forceinline__ void depthwise(const ConvArgs& c) {
  const int kernel_h = KERNEL != 0 ? KERNEL : c.kernel_h;
  const int kernel_w = KERNEL != 0 ? KERNEL : c.kernel_w;
  const int area = c.out_h * c.out_w;
  const long long index = global_index();
  if (index >= static_cast<long long>(c.batch) * c.out_channels * area) return;
  const int plane = static_cast<int>(index / area), position = static_cast<int>(index % area);
  const int channel = plane % c.out_channels;
  const int y0 = position / c.out_w * c.stride - c.pad;
  const int x0 = position % c.out_w * c.stride - c.pad;
  const float* input = c.input + static_cast<long long>(plane) * c.in_h * c.in_w;
  const float* weights = c.weights + channel * kernel_h * kernel_w;

  float sum = 0.0f;
#pragma unroll
  for (int r = 0; r < kernel_h; ++r) {
#pragma unroll
    for (int s = 0; s < kernel_w; ++s) {
      const int y = y0 + r, x = x0 + s;
      if (y < 0 || y >= c.in_h || x < 0 || x >= c.in_w) continue;
      sum = fmaf(weights[r * kernel_w + s], input[y * c.in_w + x], sum);
    }
  }
  const float scale = c.scale != nullptr ? c.scale[channel] : 1.0f;
  const float shift = c.shift != nullptr ? c.shift[channel] : 0.0f;
  const float residual = c.residual != nullptr ? c.residual[index] : 0.0f;
  c.output[index] = activate_value(fmaf(sum, scale, shift) + residual, c.activation);
}

GACER_GLOBAL(depthwise_conv)(ConvArgs args) {
  depthwise<0>(args);
}
GACER_GLOBAL(depthwise_conv_3x3)(ConvArgs args) {
  depthwise<3>(args);
}

}  // namespace gacer::kernels
