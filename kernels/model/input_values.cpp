// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/input_values.h"

#include "kernels/device/counter_hash.h"

namespace gacer::kernels {

void fill_input(const Layer& layer, unsigned seed, void* memory) {
  const unsigned own_seed = mix_bits(seed ^ 0x1bad5eedu);
  const std::int64_t count = layer.out.count();
  if (layer.op == LayerOp::kTokens) {
    int* ids = static_cast<int*>(memory);
    for (std::int64_t i = 0; i < count; ++i)
      ids[i] = static_cast<int>(hash_at(own_seed, i) % static_cast<unsigned>(layer.limit));
    return;
  }
  float* values = static_cast<float*>(memory);
  for (std::int64_t i = 0; i < count; ++i) values[i] = uniform_at(own_seed, i, -1.0f, 1.0f);
}

}  // namespace gacer::kernels
