// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/device/counter_hash.h"

namespace gacer::kernels {
namespace {

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double activated(double x, int activation) {
  switch (activation) {
    case kActRelu:
      return std::max(x, 0.0);
    case kActRelu6:
      return std::min(std::max(x, 0.0), 6.0);
    case kActGelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case kActTanh:
      return std::tanh(x);
    case kActSigmoid:
      return sigmoid(x);
    default:
      return x;
  }
}

double at_or(const float* values, long long index, double otherwise) {
  return values != nullptr ? values[index] : otherwise;
}

// b(k, column) of one batch.
using RightSide = std::function<double(long long k, long long column)>;

void gemm_one(const GemmArgs& g, const float* a, const RightSide& b, long long c_offset) {
  for (int row = 0; row < g.m; ++row) {
    for (int column = 0; column < g.n; ++column) {
      double sum = 0.0;
      for (int k = 0; k < g.k; ++k) sum += a[1LL * row * g.lda + k] * b(k, column);
      const long long at = c_offset + 1LL * row * g.ldc + column;
      const double value = g.alpha * sum + at_or(g.bias, column, 0.0) + at_or(g.residual, at, 0.0);
      g.c[at] = static_cast<float>(activated(value, g.activation));
    }
  }
}

void gemm_all(const GemmArgs& g, int batches, bool b_runs_along_k) {
  for (int batch = 0; batch < batches; ++batch) {
    const long long outer = batch / g.inner_count, inner = batch % g.inner_count;
    const float* b = g.b + outer * g.b_outer + inner * g.b_inner;
    const long long k_step = b_runs_along_k ? 1 : g.ldb, column_step = b_runs_along_k ? g.ldb : 1;
    gemm_one(
        g, g.a + outer * g.a_outer + inner * g.a_inner,
        [&](long long k, long long column) -> double {
          return b[k * k_step + column * column_step];
        },
        outer* g.c_outer + inner * g.c_inner);
  }
}

struct OutputPosition {
  int item, channel, y, x;
};

// Sum over one input channel of one window.
double window_sum(const ConvArgs& c, const OutputPosition& out, int in_channel,
                  const float* weights) {
  double sum = 0.0;
  for (int r = 0; r < c.kernel_h; ++r) {
    for (int s = 0; s < c.kernel_w; ++s) {
      const int y = out.y * c.stride - c.pad + r, x = out.x * c.stride - c.pad + s;
      if (y < 0 || y >= c.in_h || x < 0 || x >= c.in_w) continue;
      const long long at =
          ((1LL * out.item * c.in_channels + in_channel) * c.in_h + y) * c.in_w + x;
      sum += static_cast<double>(weights[r * c.kernel_w + s]) * c.input[at];
    }
  }
  return sum;
}

double dense_sum(const ConvArgs& c, const OutputPosition& out) {
  const int taps = c.kernel_h * c.kernel_w;
  double sum = 0.0;
  for (int channel = 0; channel < c.in_channels; ++channel)
    sum += window_sum(c, out, channel,
                      c.weights + (1LL * out.channel * c.in_channels + channel) * taps);
  return sum;
}

double depthwise_sum(const ConvArgs& c, const OutputPosition& out) {
  return window_sum(c, out, out.channel, c.weights + 1LL * out.channel * c.kernel_h * c.kernel_w);
}

template <class Sum>
void conv_all(const ConvArgs& c, const Sum& sum) {
  long long at = 0;
  for (int item = 0; item < c.batch; ++item)
    for (int channel = 0; channel < c.out_channels; ++channel)
      for (int y = 0; y < c.out_h; ++y)
        for (int x = 0; x < c.out_w; ++x, ++at) {
          const double value =
              sum(c, OutputPosition{item, channel, y, x}) * at_or(c.scale, channel, 1.0) +
              at_or(c.shift, channel, 0.0) + at_or(c.residual, at, 0.0);
          c.output[at] = static_cast<float>(activated(value, c.activation));
        }
}

// Calls visit(value) for each input value inside the window of output `index`.
template <class Visit>
void visit_window(const PoolArgs& p, long long index, const Visit& visit) {
  const int area = p.out_h * p.out_w, position = static_cast<int>(index % area);
  const int y0 = position / p.out_w * p.stride - p.pad, x0 = position % p.out_w * p.stride - p.pad;
  for (int y = std::max(y0, 0); y < std::min(y0 + p.kernel, p.in_h); ++y)
    for (int x = std::max(x0, 0); x < std::min(x0 + p.kernel, p.in_w); ++x)
      visit(p.input[(index / area * p.in_h + y) * p.in_w + x]);
}

long long pool_outputs(const PoolArgs& p) {
  return 1LL * p.planes * p.out_h * p.out_w;
}

void softmax(std::vector<double>& values) {
  const double best = *std::max_element(values.begin(), values.end());
  double sum = 0.0;
  for (double& value : values) sum += value = std::exp(value - best);
  for (double& value : values) value /= sum;
}

}  // namespace

void ReferenceOps::gemm_nt(const GemmArgs& args, int batches) {
  gemm_all(args, batches, true);
}
void ReferenceOps::gemm_nn(const GemmArgs& args, int batches) {
  gemm_all(args, batches, false);
}
void ReferenceOps::conv(const ConvArgs& args) {
  conv_all(args, dense_sum);
}
void ReferenceOps::depthwise_conv(const ConvArgs& args) {
  conv_all(args, depthwise_sum);
}

void ReferenceOps::max_pool(const PoolArgs& args) {
  for (long long i = 0; i < pool_outputs(args); ++i) {
    float best = std::numeric_limits<float>::lowest();
    visit_window(args, i, [&](float value) { best = std::max(best, value); });
    args.output[i] = best;
  }
}

void ReferenceOps::avg_pool(const PoolArgs& args) {
  for (long long i = 0; i < pool_outputs(args); ++i) {
    double sum = 0.0;
    visit_window(args, i, [&](float value) { sum += value; });
    args.output[i] = static_cast<float>(sum / (args.kernel * args.kernel));
  }
}

void ReferenceOps::global_avg_pool(const float* input, float* output, int planes, int area) {
  for (long long plane = 0; plane < planes; ++plane) {
    double sum = 0.0;
    for (int i = 0; i < area; ++i) sum += input[plane * area + i];
    output[plane] = static_cast<float>(sum / area);
  }
}

void ReferenceOps::batch_norm(const BatchNormArgs& a) {
  for (long long i = 0; i < a.count; ++i) {
    const long long channel = i / a.area % a.channels;
    const double normal = (static_cast<double>(a.input[i]) - a.mean[channel]) /
                          std::sqrt(static_cast<double>(a.variance[channel]) + a.epsilon);
    a.output[i] =
        static_cast<float>(activated(normal * a.gamma[channel] + a.beta[channel], a.activation));
  }
}

void ReferenceOps::scale_shift(const ScaleShiftArgs& a) {
  for (long long i = 0; i < a.count; ++i) {
    const long long channel = i / a.area % a.channels;
    const double value = static_cast<double>(a.input[i]) * a.scale[channel] + a.shift[channel];
    a.output[i] = static_cast<float>(activated(value + at_or(a.residual, i, 0.0), a.activation));
  }
}

void ReferenceOps::layer_norm(const LayerNormArgs& a) {
  for (int row = 0; row < a.rows; ++row) {
    const float* in = a.input + 1LL * row * a.columns;
    double mean = 0.0, variance = 0.0;
    for (int i = 0; i < a.columns; ++i) mean += in[i];
    mean /= a.columns;
    for (int i = 0; i < a.columns; ++i) variance += (in[i] - mean) * (in[i] - mean);
    const double inverse = 1.0 / std::sqrt(variance / a.columns + a.epsilon);
    for (int i = 0; i < a.columns; ++i)
      a.output[1LL * row * a.columns + i] =
          static_cast<float>((in[i] - mean) * inverse * a.gamma[i] + a.beta[i]);
  }
}

void ReferenceOps::softmax_rows(const float* input, float* output, int rows, int columns) {
  for (long long row = 0; row < rows; ++row) {
    std::vector<double> values(input + row * columns, input + (row + 1) * columns);
    softmax(values);
    for (int i = 0; i < columns; ++i)
      output[row * columns + i] = static_cast<float>(values[static_cast<std::size_t>(i)]);
  }
}

void ReferenceOps::activate(const float* input, float* output, long long count, Activation act) {
  for (long long i = 0; i < count; ++i) output[i] = static_cast<float>(activated(input[i], act));
}

void ReferenceOps::add_activate(const float* a, const float* b, float* output, long long count,
                                Activation act) {
  for (long long i = 0; i < count; ++i)
    output[i] = static_cast<float>(activated(static_cast<double>(a[i]) + b[i], act));
}

void ReferenceOps::fill(float* output, long long count, float value) {
  std::fill_n(output, count, value);
}

void ReferenceOps::concat2(const ConcatArgs& args) {
  float* out = args.output;
  for (int item = 0; item < args.items; ++item) {
    out = std::copy_n(args.a + 1LL * item * args.a_plane, args.a_plane, out);
    out = std::copy_n(args.b + 1LL * item * args.b_plane, args.b_plane, out);
  }
}

void ReferenceOps::embed_tokens(const EmbedArgs& a) {
  for (int row = 0; row < a.rows; ++row) {
    const float* token = a.tokens + 1LL * a.ids[row] * a.columns;
    const float* position = a.positions + 1LL * (a.first_position + row % a.sequence) * a.columns;
    for (int i = 0; i < a.columns; ++i)
      a.output[1LL * row * a.columns + i] = static_cast<float>(
          static_cast<double>(token[i]) + position[i] + at_or(a.segment, i, 0.0));
  }
}

namespace {

void decode_one(const DecodeAttentionArgs& a, long long sequence, long long head) {
  const long long hidden = 1LL * a.heads * a.head_dim, dim = a.head_dim;
  const float* query = a.qkv + sequence * 3 * hidden + head * dim;
  const long long cache = (sequence * a.heads + head) * a.capacity * dim;
  float* keys = a.key_cache + cache;
  float* values = a.value_cache + cache;
  std::copy_n(query + hidden, dim, keys + (a.length - 1) * dim);
  std::copy_n(query + 2 * hidden, dim, values + (a.length - 1) * dim);

  std::vector<double> scores;
  for (int t = 0; t < a.length; ++t) {
    double dot = 0.0;
    for (int d = 0; d < dim; ++d) dot += static_cast<double>(query[d]) * keys[t * dim + d];
    scores.push_back(dot * a.scale);
  }
  softmax(scores);
  for (int d = 0; d < dim; ++d) {
    double sum = 0.0;
    for (int t = 0; t < a.length; ++t)
      sum += scores[static_cast<std::size_t>(t)] * values[t * dim + d];
    a.output[sequence * hidden + head * dim + d] = static_cast<float>(sum);
  }
}

}  // namespace

void ReferenceOps::attention_decode(const DecodeAttentionArgs& args, int batch) {
  for (int sequence = 0; sequence < batch; ++sequence)
    for (int head = 0; head < args.heads; ++head) decode_one(args, sequence, head);
}

void ReferenceOps::lstm_cell(const LstmCellArgs& a) {
  for (long long i = 0; i < 1LL * a.batch * a.hidden; ++i) {
    const float* row = a.gates + i / a.hidden * 4 * a.hidden + i % a.hidden;
    const double next = sigmoid(row[a.hidden]) * a.cell[i] +
                        sigmoid(row[0]) * std::tanh(static_cast<double>(row[2 * a.hidden]));
    a.cell[i] = static_cast<float>(next);
    a.hidden_out[i] = static_cast<float>(sigmoid(row[3 * a.hidden]) * std::tanh(next));
  }
}

void ReferenceOps::init_uniform(float* output, long long count, unsigned seed, float low,
                                float high) {
  for (long long i = 0; i < count; ++i) output[i] = uniform_at(seed, i, low, high);
}

}  // namespace gacer::kernels
