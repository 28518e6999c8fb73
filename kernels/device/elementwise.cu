// SPDX-License-Identifier: Apache-2.0
// One thread per value.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

GACER_GLOBAL(activate)(const float* input, float* output, long long count, int activation) {
  const long long index = global_index();
  if (index < count) output[index] = activate_value(input[index], activation);
}

GACER_GLOBAL(add_activate)
(const float* a, const float* b, float* output, long long count, int activation) {
  const long long index = global_index();
  if (index < count) output[index] = activate_value(a[index] + b[index], activation);
}

GACER_GLOBAL(fill)(float* output, long long count, float value) {
  const long long index = global_index();
  if (index < count) output[index] = value;
}

// a: [batch][a_plane], b: [batch][b_plane], output: [batch][a_plane + b_plane];
// a plane is channels * height * width.
GACER_GLOBAL(concat2)
(const float* a, const float* b, float* output, int a_plane, int b_plane, long long count) {
  const long long index = global_index();
  if (index >= count) return;
  const int width = a_plane + b_plane;
  const long long item = index / width;
  const int at = static_cast<int>(index % width);
  output[index] = at < a_plane ? a[item * a_plane + at] : b[item * b_plane + at - a_plane];
}

}  // namespace gacer::kernels
