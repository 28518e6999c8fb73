// SPDX-License-Identifier: Apache-2.0
// A model computed on the CPU by the reference operators: every row with memory of its own.
#pragma once

#include <vector>

#include "kernels/model/input_values.h"
#include "kernels/model/layer_runner.h"
#include "kernels/reference/reference_ops.h"

namespace gacer::kernels {

class HostModel {
 public:
  explicit HostModel(LayerTable table, unsigned seed) : table_(std::move(table)) {
    for (const Layer& layer : table_.layers) {
      buffers_.output.push_back(allocate(layer.out.count()));
      buffers_.scratch.push_back(allocate(scratch_floats(table_, layer)));
      std::vector<float*>& parameters = buffers_.parameters.emplace_back();
      for (const Parameter& parameter : parameters_of(table_, layer))
        parameters.push_back(allocate(parameter.count));
    }
    runner_.initialise(seed);
    fill_input(table_.layers.front(), seed, buffers_.output.front());
  }

  // Output of the last row.
  std::vector<float> forward() {
    runner_.forward();
    const float* output = buffers_.output.back();
    return {output, output + table_.layers.back().out.count()};
  }
  const LayerTable& table() const { return table_; }

 private:
  float* allocate(std::int64_t floats) {
    return memory_.emplace_back(static_cast<std::size_t>(floats)).data();
  }

  LayerTable table_;
  std::vector<std::vector<float>> memory_;
  ModelBuffers buffers_;
  ReferenceOps ops_;
  LayerRunner runner_{table_, buffers_, ops_};
};

}  // namespace gacer::kernels
