// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/layer_table.h"

#include <cmath>

namespace gacer::kernels {
namespace {

constexpr std::int64_t kSegments = 2;

// Uniform values whose products keep the variance of `fan_in` inputs; `gain` 2 makes up for a
// rectified input.
Parameter weights(std::int64_t count, std::int64_t fan_in, double gain) {
  const auto bound = static_cast<float>(std::sqrt(3.0 * gain / static_cast<double>(fan_in)));
  return {count, -bound, bound};
}

Parameter around(std::int64_t count, float center, float spread) {
  return {count, center - spread, center + spread};
}

double gain_of(const Layer& layer) {
  const bool rectified = layer.activation == kActRelu || layer.activation == kActRelu6;
  return rectified ? 2.0 : 1.0;
}

void add_epilogue(const Layer& layer, std::vector<Parameter>& out) {
  const std::int64_t channels = layer.out.c;
  if (layer.epilogue == Epilogue::kBias) out.push_back(around(channels, 0.0f, 0.05f));
  if (layer.epilogue != Epilogue::kScaleShift) return;
  // A branch that is added to a residual stays small, or a hundred layers would overflow.
  const bool branch = layer.inputs.size() > 1;
  out.push_back(around(channels, branch ? 0.3f : 1.0f, 0.1f));
  out.push_back(around(channels, 0.0f, 0.1f));
}

std::vector<Parameter> conv_parameters(const LayerTable& table, const Layer& layer) {
  const bool depthwise = layer.op == LayerOp::kDepthwiseConv;
  const std::int64_t in_channels = depthwise ? 1 : table.input_of(layer).out.c;
  const std::int64_t fan_in = in_channels * layer.kernel * layer.kernel;
  std::vector<Parameter> out{weights(fan_in * layer.out.c, fan_in, gain_of(layer))};
  add_epilogue(layer, out);
  return out;
}

std::vector<Parameter> linear_parameters(const LayerTable& table, const Layer& layer) {
  const std::int64_t features = table.input_of(layer).out.per_item();
  std::vector<Parameter> out;
  if (layer.weights_of < 0)
    out.push_back(weights(features * layer.out.c, features, gain_of(layer)));
  add_epilogue(layer, out);
  return out;
}

std::vector<Parameter> batch_norm_parameters(std::int64_t channels) {
  return {around(channels, 1.0f, 0.1f), around(channels, 0.0f, 0.1f),
          Parameter{channels, -0.1f, 0.1f, false}, Parameter{channels, 0.5f, 1.5f, false}};
}

std::vector<Parameter> embedding_parameters(const Layer& layer) {
  const std::int64_t columns = layer.out.c;
  std::vector<Parameter> out{around(layer.limit * columns, 0.0f, 0.1f),
                             around(layer.positions * columns, 0.0f, 0.1f)};
  if (layer.segment) out.push_back(around(kSegments * columns, 0.0f, 0.1f));
  return out;
}

// Input weights, recurrent weights, and the two biases that torch keeps.
std::vector<Parameter> lstm_parameters(const LayerTable& table, const Layer& layer) {
  const std::int64_t features = table.input_of(layer).out.c, hidden = layer.out.c;
  return {weights(4 * hidden * features, features, 1.0), weights(4 * hidden * hidden, hidden, 1.0),
          around(4 * hidden, 0.0f, 0.05f), around(4 * hidden, 0.0f, 0.05f)};
}

std::int64_t layer_multiply_adds(const LayerTable& table, const Layer& layer) {
  const std::int64_t count = layer.out.count();
  const std::int64_t window = std::int64_t{layer.kernel} * layer.kernel;
  switch (layer.op) {
    case LayerOp::kConv:
      return count * window * table.input_of(layer).out.c;
    case LayerOp::kDepthwiseConv:
      return count * window;
    case LayerOp::kLinear:
      return count * table.input_of(layer).out.per_item();
    case LayerOp::kAttention:
      return 2 * count * layer.sequence;
    case LayerOp::kDecodeAttention:
      return 2 * count * layer.context;
    case LayerOp::kLstm:
      return 4 * count * (table.input_of(layer).out.c + layer.out.c);
    default:
      return 0;
  }
}

}  // namespace

std::vector<Parameter> parameters_of(const LayerTable& table, const Layer& layer) {
  const std::int64_t columns = layer.out.c;
  switch (layer.op) {
    case LayerOp::kConv:
    case LayerOp::kDepthwiseConv:
      return conv_parameters(table, layer);
    case LayerOp::kLinear:
      return linear_parameters(table, layer);
    case LayerOp::kBatchNorm:
      return batch_norm_parameters(columns);
    case LayerOp::kLayerNorm:
      return {around(columns, 1.0f, 0.1f), around(columns, 0.0f, 0.1f)};
    case LayerOp::kEmbedding:
      return embedding_parameters(layer);
    case LayerOp::kDecodeAttention: {
      const Parameter cache{std::int64_t{layer.out.n} * layer.context * columns, -1.0f, 1.0f,
                            false};
      return {cache, cache};
    }
    case LayerOp::kLstm:
      return lstm_parameters(table, layer);
    default:
      return {};
  }
}

std::int64_t scratch_floats(const LayerTable& table, const Layer& layer) {
  const std::int64_t sequence = layer.sequence;
  if (layer.op == LayerOp::kAttention)
    return std::int64_t{layer.out.n} * sequence * layer.heads;  // scores of each head
  if (layer.op != LayerOp::kLstm) return 0;
  const std::int64_t batch = table.batch, hidden = layer.out.c;
  // Input projections of all steps, gates of one step, cell state, first hidden state.
  return (sequence * 4 + 4 + 2) * batch * hidden;
}

std::int64_t parameter_count(const LayerTable& table) {
  std::int64_t total = 0;
  for (const Layer& layer : table.layers)
    for (const Parameter& parameter : parameters_of(table, layer))
      if (parameter.learned) total += parameter.count;
  return total;
}

std::int64_t multiply_adds(const LayerTable& table) {
  std::int64_t total = 0;
  for (const Layer& layer : table.layers) total += layer_multiply_adds(table, layer);
  return total;
}

}  // namespace gacer::kernels
