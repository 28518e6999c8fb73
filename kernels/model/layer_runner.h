// SPDX-License-Identifier: Apache-2.0
// Runs a layer table: turns each row into calls of Ops. Knows shapes and addresses, no device.
#pragma once

#include <vector>

#include "kernels/host/ops.h"
#include "kernels/model/layer_table.h"

namespace gacer::kernels {

// Addresses in the memory of the Ops in use, one entry per row.
struct ModelBuffers {
  std::vector<float*> output;  // a token row holds int32
  std::vector<float*> scratch;
  std::vector<std::vector<float*>> parameters;  // as parameters_of() lists them
};

class LayerRunner {
 public:
  // All three must outlive this object.
  LayerRunner(const LayerTable& table, const ModelBuffers& buffers, Ops& ops)
      : table_(table), buffers_(buffers), ops_(ops) {}

  // Fills every parameter from `seed`: the same values whatever the Ops.
  void initialise(unsigned seed);
  // One forward pass over the input row's buffer.
  void forward();

 private:
  struct Row;
  void run(std::size_t row);
  void conv(const Row& row);
  void depthwise_conv(const Row& row);
  void pool(const Row& row);
  void global_avg_pool(const Row& row);
  void linear(const Row& row);
  void batch_norm(const Row& row);
  void layer_norm(const Row& row);
  void concat(const Row& row);
  void embedding(const Row& row);
  void attention(const Row& row);
  void decode_attention(const Row& row);
  void lstm(const Row& row);

  const LayerTable& table_;
  const ModelBuffers& buffers_;
  Ops& ops_;
};

}  // namespace gacer::kernels
