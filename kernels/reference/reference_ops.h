// SPDX-License-Identifier: Apache-2.0
// The operators in plain C++ on host memory: what the kernels are checked against.
// Sums in double; no tiling, no tricks. Same contracts as Ops.
#pragma once

#include "kernels/host/ops.h"

namespace gacer::kernels {

class ReferenceOps final : public Ops {
 public:
  void gemm_nt(const GemmArgs& args, int batches) override;
  void gemm_nn(const GemmArgs& args, int batches) override;
  void conv(const ConvArgs& args) override;
  void depthwise_conv(const ConvArgs& args) override;
  void max_pool(const PoolArgs& args) override;
  void avg_pool(const PoolArgs& args) override;
  void global_avg_pool(const float* input, float* output, int planes, int area) override;
  void batch_norm(const BatchNormArgs& args) override;
  void scale_shift(const ScaleShiftArgs& args) override;
  void layer_norm(const LayerNormArgs& args) override;
  void softmax_rows(const float* input, float* output, int rows, int columns) override;
  void activate(const float* input, float* output, long long count, Activation act) override;
  void add_activate(const float* a, const float* b, float* output, long long count,
                    Activation act) override;
  void fill(float* output, long long count, float value) override;
  void concat2(const ConcatArgs& args) override;
  void embed_tokens(const EmbedArgs& args) override;
  void attention_decode(const DecodeAttentionArgs& args, int batch) override;
  void lstm_cell(const LstmCellArgs& args) override;
  void init_uniform(float* output, long long count, unsigned seed, float low, float high) override;
};

}  // namespace gacer::kernels
