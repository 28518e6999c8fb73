// SPDX-License-Identifier: Apache-2.0
// A model as a table: one row per layer, in execution order. Plain data; nothing here touches a
// device.
//
//   row = operation, indices of the rows it reads, output shape, attributes
//
// Shapes are NCHW. Token matrices use n for rows (batch * sequence, or time * batch) and c for
// features. The first row is the input; the last row is the output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device/args.h"

namespace gacer::kernels {

struct Shape {
  int n = 1, c = 1, h = 1, w = 1;
  std::int64_t count() const { return std::int64_t{n} * c * h * w; }
  std::int64_t per_item() const { return std::int64_t{c} * h * w; }
  int area() const { return h * w; }
};

enum class LayerOp {
  kInput,          // floats copied in for each request
  kTokens,         // int32 ids in [0, limit) copied in for each request
  kConv,           // inputs: x [, residual]
  kDepthwiseConv,  // inputs: x
  kMaxPool,
  kAvgPool,
  kGlobalAvgPool,
  kLinear,  // inputs: x [, residual]; features are all of c * h * w
  kBatchNorm,
  kLayerNorm,
  kConcat,           // inputs: a, b; along c
  kEmbedding,        // inputs: ids
  kAttention,        // inputs: qkv [batch * sequence][3 * hidden]
  kDecodeAttention,  // inputs: qkv [batch][3 * hidden]; keeps a key/value cache
  kLstm,             // inputs: x [time * batch][features]
};

// What follows the sum of a convolution or linear layer.
enum class Epilogue { kNone, kBias, kScaleShift };

struct Layer {
  LayerOp op = LayerOp::kInput;
  std::string name;
  std::vector<int> inputs;
  Shape out;
  Epilogue epilogue = Epilogue::kNone;
  Activation activation = kActNone;
  int kernel = 1, stride = 1, pad = 0;
  int heads = 0;           // attention
  int sequence = 1;        // tokens of one sequence; LSTM: time steps
  int first_position = 0;  // embedding: position of token 0
  int context = 0;         // decode attention: cached tokens, the new one included
  int limit = 0;           // tokens, embedding: vocabulary
  int positions = 0;       // embedding: rows of the position table
  bool segment = false;    // embedding: adds a segment row (BERT has two, the first is used)
  int row_step = 1;        // linear: reads rows 0, row_step, 2 * row_step ...
  int weights_of = -1;     // linear: uses the first parameter of that row instead of its own
};

struct LayerTable {
  std::string name;
  int batch = 1;
  std::vector<Layer> layers;

  int add(Layer layer) {
    layers.push_back(std::move(layer));
    return static_cast<int>(layers.size()) - 1;
  }
  const Shape& shape(int row) const { return layers[static_cast<std::size_t>(row)].out; }
  const Layer& input_of(const Layer& layer, std::size_t i = 0) const {
    return layers[static_cast<std::size_t>(layer.inputs[i])];
  }
};

// One array of a layer's state, filled with seeded uniform values in [low, high).
struct Parameter {
  std::int64_t count = 0;
  float low = 0.0f, high = 0.0f;
  bool learned = true;  // false: statistics and caches, not counted as parameters
};

// In the order in which LayerRunner expects them.
std::vector<Parameter> parameters_of(const LayerTable& table, const Layer& layer);

// Floats a layer needs only while it runs.
std::int64_t scratch_floats(const LayerTable& table, const Layer& layer);

// Learned values of the whole table.
std::int64_t parameter_count(const LayerTable& table);

// Multiply-adds of one forward pass of the whole batch, matrix products and convolutions only, as
// published figures count them.
std::int64_t multiply_adds(const LayerTable& table);

}  // namespace gacer::kernels
