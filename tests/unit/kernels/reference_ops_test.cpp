// SPDX-License-Identifier: Apache-2.0
// The references themselves, against numbers worked out by hand.
#include "kernels/reference/reference_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace gacer::kernels {
namespace {

using Floats = std::vector<float>;

ReferenceOps reference;

TEST(ReferenceOpsTest, GemmBothLayouts) {
  const Floats a{1, 2, 3, 4}, b{5, 6, 7, 8}, bias{10, 20}, residual{1, 1, 1, 1};
  Floats c(4);
  GemmArgs args{};
  args.a = a.data();
  args.b = b.data();
  args.c = c.data();
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = 2;
  args.inner_count = 1;
  args.alpha = 1.0f;
  reference.gemm_nt(args, 1);
  EXPECT_EQ(c, (Floats{17, 23, 39, 53}));
  reference.gemm_nn(args, 1);
  EXPECT_EQ(c, (Floats{19, 22, 43, 50}));
  args.bias = bias.data();
  args.residual = residual.data();
  args.alpha = -1.0f;
  args.activation = kActRelu;
  reference.gemm_nn(args, 1);
  EXPECT_EQ(c, (Floats{0, 0, 0, 0}));
}

TEST(ReferenceOpsTest, ConvolutionWithPaddingAndStride) {
  // Given the 3x3 image 1..9 and a kernel of ones
  const Floats x{1, 2, 3, 4, 5, 6, 7, 8, 9}, w(9, 1.0f), scale{2}, shift{1};
  Floats y(4);
  ConvArgs args{};
  args.input = x.data();
  args.weights = w.data();
  args.output = y.data();
  args.batch = args.in_channels = args.out_channels = 1;
  args.in_h = args.in_w = args.kernel_h = args.kernel_w = 3;
  args.out_h = args.out_w = 2;
  args.stride = 2;
  args.pad = 1;
  // Then each corner sums its four neighbours
  reference.conv(args);
  EXPECT_EQ(y, (Floats{12, 16, 24, 28}));
  args.scale = scale.data();
  args.shift = shift.data();
  reference.depthwise_conv(args);
  EXPECT_EQ(y, (Floats{25, 33, 49, 57}));
}

TEST(ReferenceOpsTest, Pooling) {
  const Floats x{1, 2, 3, 4, 5, 6, 7, 8, 9};
  Floats y(4);
  PoolArgs args{x.data(), y.data(), 1, 3, 3, 2, 2, 2, 2, 1};
  reference.max_pool(args);
  EXPECT_EQ(y, (Floats{1, 3, 7, 9}));
  reference.avg_pool(args);
  EXPECT_EQ(y, (Floats{0.25f, 1.25f, 2.75f, 7.0f}));
  reference.global_avg_pool(x.data(), y.data(), 1, 9);
  EXPECT_EQ(y[0], 5.0f);
}

TEST(ReferenceOpsTest, SoftmaxAndLayerNorm) {
  const Floats x{0, std::log(3.0f)}, ones{1, 1}, zeros{0, 0};
  Floats y(2);
  reference.softmax_rows(x.data(), y.data(), 1, 2);
  EXPECT_NEAR(y[0], 0.25f, 1e-6f);
  EXPECT_NEAR(y[1], 0.75f, 1e-6f);
  const Floats row{1, 3};
  reference.layer_norm({row.data(), ones.data(), zeros.data(), y.data(), 1, 2, 0.0f});
  EXPECT_EQ(y, (Floats{-1, 1}));
}

TEST(ReferenceOpsTest, Activations) {
  const Floats x{-1, 0.5f, 7};
  Floats y(3);
  reference.activate(x.data(), y.data(), 3, kActRelu6);
  EXPECT_EQ(y, (Floats{0, 0.5f, 6}));
  reference.activate(x.data(), y.data(), 3, kActGelu);
  EXPECT_NEAR(y[1], 0.5f * 0.69146246f, 1e-6f);  // 0.5 times the normal distribution at 0.5
  reference.activate(x.data(), y.data(), 3, kActSigmoid);
  EXPECT_NEAR(y[0], 0.26894142f, 1e-6f);
}

TEST(ReferenceOpsTest, DecodeAttentionStoresAndUsesTheNewToken) {
  // Given one cached token (key 0, value 2) and a new one with query 1, key log 3, value 6
  Floats qkv{1, std::log(3.0f), 6}, keys{0, 0}, values{2, 0}, out(1);
  reference.attention_decode({qkv.data(), keys.data(), values.data(), out.data(), 1, 1, 2, 2, 1.0f},
                             1);
  // Then the weights are 1/4 and 3/4
  EXPECT_NEAR(out[0], 0.25f * 2 + 0.75f * 6, 1e-5f);
  EXPECT_EQ(values[1], 6.0f);
}

TEST(ReferenceOpsTest, LstmCell) {
  // Given gates of zero: input, forget and output are 1/2, the candidate 0
  const Floats gates(4, 0.0f);
  Floats cell{2}, hidden(1);
  reference.lstm_cell({gates.data(), cell.data(), hidden.data(), 1, 1});
  EXPECT_EQ(cell[0], 1.0f);
  EXPECT_NEAR(hidden[0], 0.5f * std::tanh(1.0f), 1e-6f);
}

TEST(ReferenceOpsTest, ConcatEmbedAndBatchNorm) {
  const Floats a{1, 2}, b{3, 4};
  Floats out(4);
  reference.concat2({a.data(), b.data(), out.data(), 1, 1, 2});
  EXPECT_EQ(out, (Floats{1, 3, 2, 4}));

  const std::vector<int> ids{1, 0};
  const Floats tokens{1, 2}, positions{10, 20}, segment{100};
  reference.embed_tokens(
      {ids.data(), tokens.data(), positions.data(), segment.data(), out.data(), 2, 1, 2, 0});
  EXPECT_EQ(out[0], 112.0f);
  EXPECT_EQ(out[1], 121.0f);

  const Floats two{2}, zero{0}, one{1};
  reference.batch_norm({a.data(), two.data(), zero.data(), one.data(), one.data(), out.data(), 2, 1,
                        2, 0.0f, kActNone});
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[1], 2.0f);
}

}  // namespace
}  // namespace gacer::kernels
