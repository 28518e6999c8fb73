// SPDX-License-Identifier: Apache-2.0
// What host and device code agree on: activation codes and the argument blocks of the larger
// kernels, passed by value. Plain data; sizes and strides are in elements unless a name says
// otherwise.
#pragma once

namespace gacer::kernels {

enum Activation : int {
  kActNone = 0,
  kActRelu = 1,
  kActRelu6 = 2,
  kActGelu = 3,
  kActTanh = 4,
  kActSigmoid = 5,
};

// Which operands may be moved as float4: 16-byte aligned, extents and strides multiples of four.
enum VectorFlags : int { kVectorA = 1, kVectorB = 2 };

// C[m][n] = act(alpha * A[m][k] * B + bias[n] + residual[m][n]), all row-major.
// B is [n][k] ("nt", the layout of a linear layer's weights) or [k][n] ("nn").
// Batch z = outer * inner_count + inner moves each operand by outer * x_outer + inner * x_inner.
// residual has C's layout; bias and residual may be null.
struct GemmArgs {
  const float* a;
  const float* b;
  float* c;
  const float* bias;
  const float* residual;
  long long a_outer, a_inner;
  long long b_outer, b_inner;
  long long c_outer, c_inner;
  int m, n, k;
  int lda, ldb, ldc;
  int inner_count;
  int activation;
  int vector_flags;
  float alpha;
};

// x / divisor for 0 <= x < 2^31 as a multiply and a shift.
struct FastDivisor {
  unsigned divisor;
  unsigned multiplier;
  unsigned shift;
};

// NCHW convolution, weights [out_channels][in_channels][kernel_h][kernel_w]:
// y = act(conv(x) * scale[channel] + shift[channel] + residual). scale, shift, residual may be
// null. For depthwise kernels weights are [channels][kernel_h][kernel_w] and in_channels ==
// out_channels.
struct ConvArgs {
  const float* input;
  const float* weights;
  float* output;
  const float* scale;
  const float* shift;
  const float* residual;
  int batch, in_channels, in_h, in_w;
  int out_channels, out_h, out_w;
  int kernel_h, kernel_w, stride, pad;
  int activation;
  int vector_flags;         // kVectorA: weights
  FastDivisor by_out_area;  // out_h * out_w
  FastDivisor by_kernel_area;
  FastDivisor by_kernel_w;
};

// NCHW pooling; an average counts padded positions, as torch does by default.
struct PoolArgs {
  const float* input;
  float* output;
  int planes, in_h, in_w;
  int out_h, out_w;
  int kernel, stride, pad;
};

// Batch norm from stored statistics over count = batch * channels * area values.
struct BatchNormArgs {
  const float* input;
  const float* gamma;
  const float* beta;
  const float* mean;
  const float* variance;
  float* output;
  long long count;
  int channels, area;
  float epsilon;
  int activation;
};

// y = act(x * scale[channel] + shift[channel] + residual); residual may be null.
struct ScaleShiftArgs {
  const float* input;
  const float* scale;
  const float* shift;
  const float* residual;
  float* output;
  long long count;
  int channels, area;
  int activation;
};

struct LayerNormArgs {
  const float* input;
  const float* gamma;
  const float* beta;
  float* output;
  int rows, columns;
  float epsilon;
};

// Row r is token r % sequence of its sequence and has position first_position + r % sequence.
// segment is one row added to all, or null. Every id must be a row of `tokens`.
struct EmbedArgs {
  const int* ids;
  const float* tokens;
  const float* positions;
  const float* segment;
  float* output;
  int rows, columns;
  int sequence, first_position;
};

// One new token per sequence against a cache of `length - 1` earlier ones; the new key and value
// are stored at position length - 1. qkv is [batch][3 * heads * head_dim], caches are
// [batch][heads][capacity][head_dim], output is [batch][heads * head_dim].
struct DecodeAttentionArgs {
  const float* qkv;
  float* key_cache;
  float* value_cache;
  float* output;
  int heads, head_dim;
  int length, capacity;
  float scale;
};

}  // namespace gacer::kernels
