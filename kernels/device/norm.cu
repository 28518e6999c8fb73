// SPDX-License-Identifier: Apache-2.0
// Normalisation at inference.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

GACER_GLOBAL(batch_norm)(BatchNormArgs a) {
  const long long index = global_index();
  if (index >= a.count) return;
  const int channel = static_cast<int>(index / a.area % a.channels);
  const float normal = (a.input[index] - a.mean[channel]) * rsqrtf(a.variance[channel] + a.epsilon);
  a.output[index] = activate_value(fmaf(normal, a.gamma[channel], a.beta[channel]), a.activation);
}

GACER_GLOBAL(scale_shift)(ScaleShiftArgs a) {
  const long long index = global_index();
  if (index >= a.count) return;
  const int channel = static_cast<int>(index / a.area % a.channels);
  const float added = a.residual != nullptr ? a.residual[index] : 0.0f;
  const float value = fmaf(a.input[index], a.scale[channel], a.shift[channel]);
  a.output[index] = activate_value(value + added, a.activation);
}

GACER_GLOBAL(layer_norm)(LayerNormArgs a) {
  constexpr int kWarps = block_size::layer_norm / 32;
  __shared__ float scratch[kWarps];
  const float* row = a.input + static_cast<long long>(blockIdx.x) * a.columns;
  float* out = a.output + static_cast<long long>(blockIdx.x) * a.columns;

  float sum = 0.0f;
  for (int i = threadIdx.x; i < a.columns; i += blockDim.x) sum += row[i];
  const float mean = block_sum<kWarps>(sum, scratch) / static_cast<float>(a.columns);
  float squares = 0.0f;
  for (int i = threadIdx.x; i < a.columns; i += blockDim.x) {
    const float delta = row[i] - mean;
    squares = fmaf(delta, delta, squares);
  }
  const float variance = block_sum<kWarps>(squares, scratch) / static_cast<float>(a.columns);
  const float inverse = rsqrtf(variance + a.epsilon);
  for (int i = threadIdx.x; i < a.columns; i += blockDim.x)
    out[i] = fmaf((row[i] - mean) * inverse, a.gamma[i], a.beta[i]);
}

}  // namespace gacer::kernels
