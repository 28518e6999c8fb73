// SPDX-License-Identifier: Apache-2.0
// Operators as kernel launches: picks the kernel and the grid from the shapes.
// The choice depends on shapes only, so that results are the same on every device.
#pragma once

#include "kernels/host/launcher.h"
#include "kernels/host/ops.h"

namespace gacer::kernels {

class DeviceOps final : public Ops {
 public:
  // `launcher` must outlive this object.
  explicit DeviceOps(Launcher& launcher) : launcher_(launcher) {}

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

 private:
  Launcher& launcher_;
};

// The kernels that gemm_nt and conv would take; for tests and tables.
KernelId gemm_nt_kernel(int m, int n, int batches);
KernelId conv_kernel(const ConvArgs& args);

// Multiply-shift division by `divisor` (1 <= divisor < 2^31).
FastDivisor fast_divisor(int divisor);

}  // namespace gacer::kernels
