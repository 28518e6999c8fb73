// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/layer_runner.h"

#include <cmath>

#include "kernels/device/counter_hash.h"

namespace gacer::kernels {
namespace {

constexpr float kBatchNormEpsilon = 1e-5f;
constexpr float kLayerNormEpsilon = 1e-5f;

GemmArgs plain_gemm(const float* a, const float* b, float* c) {
  GemmArgs args{};
  args.a = a;
  args.b = b;
  args.c = c;
  args.inner_count = 1;
  args.alpha = 1.0f;
  return args;
}

// C[m][n] = A[m][k] B[n][k], all dense.
void set_dense(GemmArgs& args, int m, int n, int k) {
  args.m = m;
  args.n = n;
  args.k = k;
  args.lda = args.ldb = k;
  args.ldc = n;
}

}  // namespace

// A row with the addresses it works on.
struct LayerRunner::Row {
  const LayerTable& table;
  const ModelBuffers& buffers;
  const Layer& layer;
  std::size_t index;

  const Shape& in() const { return table.input_of(layer).out; }
  const Shape& out() const { return layer.out; }
  const float* input(std::size_t i = 0) const {
    return buffers.output[static_cast<std::size_t>(layer.inputs[i])];
  }
  const float* residual() const { return layer.inputs.size() > 1 ? input(1) : nullptr; }
  float* output() const { return buffers.output[index]; }
  float* scratch() const { return buffers.scratch[index]; }
  float* parameter(std::size_t i) const { return buffers.parameters[index][i]; }
  const float* bias(std::size_t i) const {
    return layer.epilogue == Epilogue::kBias ? parameter(i) : nullptr;
  }
};

void LayerRunner::initialise(unsigned seed) {
  for (std::size_t row = 0; row < table_.layers.size(); ++row) {
    const std::vector<Parameter> parameters = parameters_of(table_, table_.layers[row]);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& p = parameters[i];
      const unsigned own_seed = mix_bits(seed + static_cast<unsigned>(16 * row + i + 1));
      ops_.init_uniform(buffers_.parameters[row][i], p.count, own_seed, p.low, p.high);
    }
  }
}

void LayerRunner::forward() {
  for (std::size_t row = 0; row < table_.layers.size(); ++row) run(row);
}

void LayerRunner::run(std::size_t index) {
  const Layer& layer = table_.layers[index];
  const Row row{table_, buffers_, layer, index};
  switch (layer.op) {
    case LayerOp::kInput:
    case LayerOp::kTokens:
      return;
    case LayerOp::kConv:
      return conv(row);
    case LayerOp::kDepthwiseConv:
      return depthwise_conv(row);
    case LayerOp::kMaxPool:
    case LayerOp::kAvgPool:
      return pool(row);
    case LayerOp::kGlobalAvgPool:
      return global_avg_pool(row);
    case LayerOp::kLinear:
      return linear(row);
    case LayerOp::kBatchNorm:
      return batch_norm(row);
    case LayerOp::kLayerNorm:
      return layer_norm(row);
    case LayerOp::kConcat:
      return concat(row);
    case LayerOp::kEmbedding:
      return embedding(row);
    case LayerOp::kAttention:
      return attention(row);
    case LayerOp::kDecodeAttention:
      return decode_attention(row);
    case LayerOp::kLstm:
      return lstm(row);
  }
}

namespace {

// Everything but the addresses.
ConvArgs conv_shape(const Layer& layer, const Shape& in) {
  ConvArgs args{};
  args.batch = in.n;
  args.in_channels = in.c;
  args.in_h = in.h;
  args.in_w = in.w;
  args.out_channels = layer.out.c;
  args.out_h = layer.out.h;
  args.out_w = layer.out.w;
  args.kernel_h = args.kernel_w = layer.kernel;
  args.stride = layer.stride;
  args.pad = layer.pad;
  args.activation = layer.activation;
  return args;
}

template <class Row>
ConvArgs conv_args(const Row& row) {
  ConvArgs args = conv_shape(row.layer, row.in());
  args.input = row.input();
  args.weights = row.parameter(0);
  args.output = row.output();
  args.residual = row.residual();
  args.shift = row.bias(1);
  if (row.layer.epilogue == Epilogue::kScaleShift) {
    args.scale = row.parameter(1);
    args.shift = row.parameter(2);
  }
  return args;
}

}  // namespace

void LayerRunner::conv(const Row& row) {
  ops_.conv(conv_args(row));
}

void LayerRunner::depthwise_conv(const Row& row) {
  ops_.depthwise_conv(conv_args(row));
}

void LayerRunner::pool(const Row& row) {
  const Layer& layer = row.layer;
  const PoolArgs args{row.input(), row.output(), row.in().n * row.in().c,
                      row.in().h,  row.in().w,   row.out().h,
                      row.out().w, layer.kernel, layer.stride,
                      layer.pad};
  if (layer.op == LayerOp::kMaxPool)
    ops_.max_pool(args);
  else
    ops_.avg_pool(args);
}

void LayerRunner::global_avg_pool(const Row& row) {
  ops_.global_avg_pool(row.input(), row.output(), row.in().n * row.in().c, row.in().area());
}

void LayerRunner::linear(const Row& row) {
  const Layer& layer = row.layer;
  const bool tied = layer.weights_of >= 0;
  const float* weights =
      tied ? buffers_.parameters[static_cast<std::size_t>(layer.weights_of)][0] : row.parameter(0);
  const int features = static_cast<int>(row.in().per_item());
  GemmArgs args = plain_gemm(row.input(), weights, row.output());
  set_dense(args, row.out().n, row.out().c, features);
  args.lda = features * layer.row_step;
  args.bias = row.bias(tied ? 0 : 1);
  args.residual = row.residual();
  args.activation = layer.activation;
  ops_.gemm_nt(args, 1);
}

void LayerRunner::batch_norm(const Row& row) {
  ops_.batch_norm({row.input(), row.parameter(0), row.parameter(1), row.parameter(2),
                   row.parameter(3), row.output(), row.out().count(), row.out().c, row.out().area(),
                   kBatchNormEpsilon, row.layer.activation});
}

void LayerRunner::layer_norm(const Row& row) {
  ops_.layer_norm({row.input(), row.parameter(0), row.parameter(1), row.output(), row.out().n,
                   row.out().c, kLayerNormEpsilon});
}

void LayerRunner::concat(const Row& row) {
  const Shape& a = table_.input_of(row.layer, 0).out;
  const Shape& b = table_.input_of(row.layer, 1).out;
  ops_.concat2({row.input(0), row.input(1), row.output(), static_cast<int>(a.per_item()),
                static_cast<int>(b.per_item()), a.n});
}

void LayerRunner::embedding(const Row& row) {
  const Layer& layer = row.layer;
  const float* segment = layer.segment ? row.parameter(2) : nullptr;
  ops_.embed_tokens({reinterpret_cast<const int*>(row.input()), row.parameter(0), row.parameter(1),
                     segment, row.output(), row.out().n, row.out().c, layer.sequence,
                     layer.first_position});
}

// Scores, softmax and context for each (sequence, head).
void LayerRunner::attention(const Row& row) {
  const int hidden = row.out().c, sequence = row.layer.sequence, heads = row.layer.heads;
  const int head_dim = hidden / heads, batch = row.out().n / sequence;
  const long long sequence_step = 3LL * sequence * hidden;
  const long long head_scores = 1LL * sequence * sequence;

  GemmArgs scores = plain_gemm(row.input(), row.input() + hidden, row.scratch());
  set_dense(scores, sequence, sequence, head_dim);
  scores.lda = scores.ldb = 3 * hidden;
  scores.a_outer = scores.b_outer = sequence_step;
  scores.a_inner = scores.b_inner = head_dim;
  scores.c_outer = heads * head_scores;
  scores.c_inner = head_scores;
  scores.inner_count = heads;
  scores.alpha = 1.0f / std::sqrt(static_cast<float>(head_dim));
  ops_.gemm_nt(scores, batch * heads);

  ops_.softmax_rows(row.scratch(), row.scratch(), batch * heads * sequence, sequence);

  GemmArgs context = plain_gemm(row.scratch(), row.input() + 2 * hidden, row.output());
  set_dense(context, sequence, head_dim, sequence);
  context.ldb = 3 * hidden;
  context.ldc = hidden;
  context.a_outer = heads * head_scores;
  context.a_inner = head_scores;
  context.b_outer = sequence_step;
  context.b_inner = head_dim;
  context.c_outer = 1LL * sequence * hidden;
  context.c_inner = head_dim;
  context.inner_count = heads;
  ops_.gemm_nn(context, batch * heads);
}

void LayerRunner::decode_attention(const Row& row) {
  const int heads = row.layer.heads, head_dim = row.out().c / heads;
  const DecodeAttentionArgs args{row.input(),
                                 row.parameter(0),
                                 row.parameter(1),
                                 row.output(),
                                 heads,
                                 head_dim,
                                 row.layer.context,
                                 row.layer.context,
                                 1.0f / std::sqrt(static_cast<float>(head_dim))};
  ops_.attention_decode(args, row.out().n);
}

// One product for the inputs of all steps, then a small product and a pointwise kernel per step.
void LayerRunner::lstm(const Row& row) {
  const int steps = row.layer.sequence, batch = table_.batch, hidden = row.out().c;
  const long long state = 1LL * batch * hidden;
  float* projected = row.scratch();
  float* gates = projected + 4 * steps * state;
  float* cell = gates + 4 * state;
  float* first_hidden = cell + state;

  GemmArgs inputs = plain_gemm(row.input(), row.parameter(0), projected);
  set_dense(inputs, steps * batch, 4 * hidden, row.in().c);
  inputs.bias = row.parameter(2);
  ops_.gemm_nt(inputs, 1);
  ops_.fill(cell, 2 * state, 0.0f);

  for (int step = 0; step < steps; ++step) {
    const float* previous = step == 0 ? first_hidden : row.output() + (step - 1) * state;
    GemmArgs recurrent = plain_gemm(previous, row.parameter(1), gates);
    set_dense(recurrent, batch, 4 * hidden, hidden);
    recurrent.bias = row.parameter(3);
    recurrent.residual = projected + 4 * step * state;
    ops_.gemm_nt(recurrent, 1);
    ops_.lstm_cell({gates, cell, row.output() + step * state, batch, hidden});
  }
}

}  // namespace gacer::kernels
