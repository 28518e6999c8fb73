// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "tests/unit/kernels/device/operator_fixture.h"

namespace gacer::kernels {
namespace {

struct ConvCase {
  int batch, in_channels, size, out_channels, kernel, stride, pad;
  Activation activation;
  bool scale, shift, residual;
};

std::ostream& operator<<(std::ostream& out, const ConvCase& c) {
  return out << c.batch << "x" << c.in_channels << "x" << c.size << " to " << c.out_channels
             << " kernel " << c.kernel << " stride " << c.stride << " pad " << c.pad;
}

// Width differs from height so that a swap of the two shows.
ConvArgs shape_of(const ConvCase& c) {
  ConvArgs args{};
  args.batch = c.batch;
  args.in_channels = c.in_channels;
  args.in_h = c.size;
  args.in_w = c.size + 1;
  args.out_channels = c.out_channels;
  args.kernel_h = args.kernel_w = c.kernel;
  args.stride = c.stride;
  args.pad = c.pad;
  args.out_h = (args.in_h + 2 * c.pad - c.kernel) / c.stride + 1;
  args.out_w = (args.in_w + 2 * c.pad - c.kernel) / c.stride + 1;
  args.activation = c.activation;
  return args;
}

class ConvTest : public OperatorTest, public testing::WithParamInterface<ConvCase> {
 protected:
  void check(bool depthwise) {
    const ConvCase& c = GetParam();
    ConvArgs args = shape_of(c);
    const int weight_channels = depthwise ? 1 : c.in_channels;
    const long long outputs = 1LL * c.batch * c.out_channels * args.out_h * args.out_w;
    Array& x = input(1LL * c.batch * c.in_channels * args.in_h * args.in_w);
    Array& weights = input(1LL * c.out_channels * weight_channels * c.kernel * c.kernel);
    Array* scale = c.scale ? &input(c.out_channels, 0.5f, 1.5f) : nullptr;
    Array* shift = c.shift ? &input(c.out_channels) : nullptr;
    Array* residual = c.residual ? &input(outputs) : nullptr;
    Array& y = output(outputs);
    expect_same([&](Ops& ops, const Side& at) {
      args.input = at(x);
      args.weights = at(weights);
      args.output = at(y);
      args.scale = at(scale);
      args.shift = at(shift);
      args.residual = at(residual);
      if (depthwise)
        ops.depthwise_conv(args);
      else
        ops.conv(args);
    });
  }
};

class DepthwiseTest : public ConvTest {};

TEST_P(ConvTest, EqualsReference) {
  check(false);
}
TEST_P(DepthwiseTest, EqualsReference) {
  check(true);
}

constexpr ConvCase kConvCases[] = {
    {1, 3, 14, 8, 7, 2, 3, kActRelu, true, true, false},
    {2, 3, 23, 6, 11, 4, 2, kActRelu, false, true, false},
    {1, 4, 9, 65, 5, 1, 2, kActRelu, false, true, false},
    {3, 5, 7, 9, 3, 1, 1, kActNone, true, true, true},
    {2, 8, 9, 70, 3, 2, 1, kActRelu6, true, true, false},
    {1, 16, 6, 12, 3, 1, 0, kActNone, false, false, false},
    {2, 7, 8, 16, 1, 1, 0, kActNone, true, true, true},
    {1, 64, 7, 100, 1, 1, 0, kActRelu, true, true, true},
    {2, 6, 8, 10, 1, 2, 0, kActNone, true, true, false},
    {7, 2, 31, 136, 3, 1, 1, kActRelu, true, true, true},
    {7, 9, 31, 130, 1, 1, 0, kActNone, true, true, false},
};
INSTANTIATE_TEST_SUITE_P(Shapes, ConvTest, testing::ValuesIn(kConvCases));

TEST(ConvCasesTest, ReachEveryKernel) {
  std::set<KernelId> kernels;
  for (const ConvCase& c : kConvCases) kernels.insert(conv_kernel(shape_of(c)));
  EXPECT_EQ(kernels.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DepthwiseTest,
    testing::Values(ConvCase{2, 5, 9, 5, 3, 1, 1, kActRelu6, true, true, false},
                    ConvCase{1, 16, 8, 16, 3, 2, 1, kActNone, true, true, true},
                    ConvCase{1, 3, 11, 3, 5, 2, 2, kActRelu, false, false, false}));

}  // namespace
}  // namespace gacer::kernels
