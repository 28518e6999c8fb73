// SPDX-License-Identifier: Apache-2.0
// The pointwise part of an LSTM step; gates come in the order input, forget, cell, output.
#include "kernels/device/common.cuh"

namespace gacer::kernels {

// gates: [batch][4 * hidden]; cell is read and written in place.
GACER_GLOBAL(lstm_cell)
(const float* gates, float* cell, float* hidden_out, int batch, int hidden) {
  const long long index = global_index();
  if (index >= static_cast<long long>(batch) * hidden) return;
  const float* row = gates + index / hidden * 4 * hidden + index % hidden;
  const float input = sigmoid(row[0]);
  const float forget = sigmoid(row[hidden]);
  const float candidate = tanhf(row[2 * hidden]);
  const float output = sigmoid(row[3 * hidden]);
  const float next = fmaf(forget, cell[index], input * candidate);
  cell[index] = next;
  hidden_out[index] = output * tanhf(next);
}

}  // namespace gacer::kernels
