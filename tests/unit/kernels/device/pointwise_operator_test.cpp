// SPDX-License-Identifier: Apache-2.0
// Pooling, norms, softmax and elementwise kernels against their references.
#include "tests/unit/kernels/device/operator_fixture.h"

namespace gacer::kernels {
namespace {

using PointwiseTest = OperatorTest;

struct PoolCase {
  int planes, h, w, kernel, stride, pad;
};

class PoolTest : public OperatorTest, public testing::WithParamInterface<PoolCase> {};

TEST_P(PoolTest, MaxAndAverageEqualReference) {
  const PoolCase& c = GetParam();
  const int out_h = (c.h + 2 * c.pad - c.kernel) / c.stride + 1;
  const int out_w = (c.w + 2 * c.pad - c.kernel) / c.stride + 1;
  Array& x = input(c.planes * c.h * c.w);
  Array &largest = output(c.planes * out_h * out_w), &mean = output(c.planes * out_h * out_w);
  PoolArgs args{nullptr, nullptr, c.planes, c.h, c.w, out_h, out_w, c.kernel, c.stride, c.pad};
  expect_same([&](Ops& ops, const Side& at) {
    args.input = at(x);
    args.output = at(largest);
    ops.max_pool(args);
    args.output = at(mean);
    ops.avg_pool(args);
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, PoolTest,
                         testing::Values(PoolCase{6, 8, 9, 2, 2, 0}, PoolCase{5, 13, 12, 3, 2, 0},
                                         PoolCase{4, 11, 14, 3, 2, 1},
                                         PoolCase{40, 5, 5, 5, 1, 2}));

TEST_F(PointwiseTest, GlobalAveragePool) {
  Array &x = input(19 * 49), &y = output(19);
  expect_same([&](Ops& ops, const Side& at) { ops.global_avg_pool(at(x), at(y), 19, 49); });
}

TEST_F(PointwiseTest, BatchNorm) {
  constexpr int kCount = 3 * 7 * 25;
  Array &x = input(kCount), &gamma = input(7), &beta = input(7), &mean = input(7);
  Array &variance = input(7, 0.01f, 2.0f), &y = output(kCount);
  expect_same([&](Ops& ops, const Side& at) {
    ops.batch_norm({at(x), at(gamma), at(beta), at(mean), at(variance), at(y), kCount, 7, 25, 1e-5f,
                    kActRelu});
  });
}

TEST_F(PointwiseTest, ScaleShiftWithAndWithoutResidual) {
  constexpr int kCount = 2 * 6 * 50;
  Array &x = input(kCount), &scale = input(6), &shift = input(6), &residual = input(kCount);
  Array &plain = output(kCount), &added = output(kCount);
  expect_same([&](Ops& ops, const Side& at) {
    ops.scale_shift({at(x), at(scale), at(shift), nullptr, at(plain), kCount, 6, 50, kActNone});
    ops.scale_shift(
        {at(x), at(scale), at(shift), at(residual), at(added), kCount, 6, 50, kActRelu});
  });
}

class RowsTest : public OperatorTest, public testing::WithParamInterface<int> {};

TEST_P(RowsTest, LayerNorm) {
  const int columns = GetParam();
  Array &x = input(5 * columns, 2.0f, 6.0f), &gamma = input(columns), &beta = input(columns);
  Array& y = output(5 * columns);
  expect_same([&](Ops& ops, const Side& at) {
    ops.layer_norm({at(x), at(gamma), at(beta), at(y), 5, columns, 1e-5f});
  });
}

TEST_P(RowsTest, Softmax) {
  const int columns = GetParam();
  Array &x = input(9 * columns, -20.0f, 60.0f), &y = output(9 * columns);
  Array& in_place = in_out(9 * columns);
  expect_same([&](Ops& ops, const Side& at) {
    ops.softmax_rows(at(x), at(y), 9, columns);
    ops.softmax_rows(at(in_place), at(in_place), 9, columns);
  });
}

INSTANTIATE_TEST_SUITE_P(Columns, RowsTest, testing::Values(1, 31, 64, 128, 333, 768));

class ActivationTest : public OperatorTest, public testing::WithParamInterface<Activation> {};

TEST_P(ActivationTest, EqualsReference) {
  Array &a = input(600, -9.0f, 9.0f), &b = input(600), &y = output(600), &sum = output(600);
  expect_same([&](Ops& ops, const Side& at) {
    ops.activate(at(a), at(y), 600, GetParam());
    ops.add_activate(at(a), at(b), at(sum), 600, GetParam());
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, ActivationTest,
                         testing::Values(kActNone, kActRelu, kActRelu6, kActGelu, kActTanh,
                                         kActSigmoid));

TEST_F(PointwiseTest, Fill) {
  Array& y = output(1000);
  expect_same([&](Ops& ops, const Side& at) { ops.fill(at(y), 1000, -2.5f); }, 0.0);
}

TEST_F(PointwiseTest, Concat) {
  Array &a = input(3 * 50), &b = input(3 * 7), &y = output(3 * 57);
  expect_same([&](Ops& ops, const Side& at) { ops.concat2({at(a), at(b), at(y), 50, 7, 3}); }, 0.0);
}

TEST_F(PointwiseTest, InitIsBitEqualToTheHost) {
  Array& y = output(2050);
  expect_same([&](Ops& ops, const Side& at) { ops.init_uniform(at(y), 2050, 77, -0.3f, 0.7f); },
              0.0);
}

}  // namespace
}  // namespace gacer::kernels
