// SPDX-License-Identifier: Apache-2.0
// Token lookup, a block per token.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

GACER_GLOBAL(embed_tokens)(EmbedArgs a) {
  const int row = blockIdx.x;
  const float* token = a.tokens + static_cast<long long>(a.ids[row]) * a.columns;
  const float* position =
      a.positions + static_cast<long long>(a.first_position + row % a.sequence) * a.columns;
  float* out = a.output + static_cast<long long>(row) * a.columns;
  for (int i = threadIdx.x; i < a.columns; i += blockDim.x) {
    const float extra = a.segment != nullptr ? a.segment[i] : 0.0f;
    out[i] = token[i] + position[i] + extra;
  }
}

}  // namespace gacer::kernels
