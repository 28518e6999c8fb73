// SPDX-License-Identifier: Apache-2.0
// Seeded weights made on the device.
#include "kernels/device/common.cuh"
#include "kernels/device/counter_hash.h"

namespace gacer::kernels {

GACER_GLOBAL(init_uniform)
(float* output, long long count, unsigned seed, float low, float high) {
  const long long first = global_index() * 4;
  for (int i = 0; i < 4; ++i) {
    const long long index = first + i;
    if (index < count) output[index] = uniform_at(seed, index, low, high);
  }
}

}  // namespace gacer::kernels
