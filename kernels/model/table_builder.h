// SPDX-License-Identifier: Apache-2.0
// Adds rows to a layer table and works out their shapes.
#pragma once

#include "kernels/model/model_list.h"

namespace gacer::kernels {

constexpr int kNoRow = -1;

struct ConvSpec {
  int channels = 0, kernel = 1, stride = 1, pad = 0;
  Epilogue epilogue = Epilogue::kScaleShift;
  Activation activation = kActNone;
  int residual = kNoRow;
};

struct PoolSpec {
  LayerOp op = LayerOp::kMaxPool;
  int kernel = 2, stride = 2, pad = 0;
};

struct LinearSpec {
  int features = 0;
  Activation activation = kActNone;
  int residual = kNoRow;
};

// Each call returns the index of the row that it added; `x` is the row read.
class TableBuilder {
 public:
  TableBuilder(std::string name, const ModelOptions& options);

  int image_input(int default_pixels);
  int conv(int x, const std::string& name, const ConvSpec& spec);
  int depthwise(int x, const std::string& name, const ConvSpec& spec);
  int pool(int x, const std::string& name, const PoolSpec& spec);
  int global_avg_pool(int x);
  int linear(int x, const std::string& name, const LinearSpec& spec);
  int batch_norm_relu(int x, const std::string& name);
  int layer_norm(int x, const std::string& name);
  int concat(int a, int b, const std::string& name);
  int add(Layer layer) { return table_.add(std::move(layer)); }

  // `full` divided by the width divisor, at least 4.
  int width(int full) const;
  // `count` blocks, or the option's number if that is smaller.
  int depth(int count) const;
  const Shape& shape(int row) const { return table_.shape(row); }
  LayerTable take() { return std::move(table_); }

 private:
  LayerTable table_;
  ModelOptions options_;
};

}  // namespace gacer::kernels
