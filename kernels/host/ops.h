// SPDX-License-Identifier: Apache-2.0
// The operators as calls, whatever carries them out: DeviceOps launches kernels, ReferenceOps
// computes on the CPU. Pointers are addresses in the implementation's own memory. Errors: none are
// returned; DeviceOps' launcher keeps the first one. Not thread-safe.
#pragma once

#include "kernels/device/args.h"

namespace gacer::kernels {

class Ops {
 public:
  virtual ~Ops() = default;

  // The implementation fills vector_flags and the divisors of the argument blocks itself.
  virtual void gemm_nt(const GemmArgs& args, int batches) = 0;
  virtual void gemm_nn(const GemmArgs& args, int batches) = 0;
  virtual void conv(const ConvArgs& args) = 0;
  virtual void depthwise_conv(const ConvArgs& args) = 0;
  virtual void max_pool(const PoolArgs& args) = 0;
  virtual void avg_pool(const PoolArgs& args) = 0;
  virtual void global_avg_pool(const float* input, float* output, int planes, int area) = 0;
  virtual void batch_norm(const BatchNormArgs& args) = 0;
  virtual void scale_shift(const ScaleShiftArgs& args) = 0;
  virtual void layer_norm(const LayerNormArgs& args) = 0;
  // input and output may be the same.
  virtual void softmax_rows(const float* input, float* output, int rows, int columns) = 0;
  virtual void activate(const float* input, float* output, long long count, Activation act) = 0;
  virtual void add_activate(const float* a, const float* b, float* output, long long count,
                            Activation act) = 0;
  virtual void fill(float* output, long long count, float value) = 0;
  // a: [items][a_plane], b: [items][b_plane], output: [items][a_plane + b_plane].
  struct ConcatArgs {
    const float* a;
    const float* b;
    float* output;
    int a_plane, b_plane, items;
  };
  virtual void concat2(const ConcatArgs& args) = 0;
  virtual void embed_tokens(const EmbedArgs& args) = 0;
  virtual void attention_decode(const DecodeAttentionArgs& args, int batch) = 0;
  // gates: [batch][4 * hidden]; cell is read and written.
  struct LstmCellArgs {
    const float* gates;
    float* cell;
    float* hidden_out;
    int batch, hidden;
  };
  virtual void lstm_cell(const LstmCellArgs& args) = 0;
  virtual void init_uniform(float* output, long long count, unsigned seed, float low,
                            float high) = 0;
};

}  // namespace gacer::kernels
