// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "tests/unit/kernels/device/operator_fixture.h"

namespace gacer::kernels {
namespace {

struct GemmCase {
  int m, n, k;
  Activation activation;
  bool bias, residual;
  int pad = 0;  // added to each leading dimension
};

std::ostream& operator<<(std::ostream& out, const GemmCase& c) {
  return out << c.m << "x" << c.n << "x" << c.k << " pad " << c.pad;
}

class GemmTest : public OperatorTest, public testing::WithParamInterface<GemmCase> {
 protected:
  GemmArgs shape() const {
    const GemmCase& c = GetParam();
    GemmArgs args{};
    args.m = c.m;
    args.n = c.n;
    args.k = c.k;
    args.inner_count = 1;
    args.alpha = 0.5f;
    args.activation = c.activation;
    return args;
  }
};

TEST_P(GemmTest, LinearLayerEqualsReference) {
  const GemmCase& c = GetParam();
  GemmArgs args = shape();
  args.lda = args.ldb = c.k + c.pad;
  args.ldc = c.n;
  Array &a = input(1LL * c.m * args.lda), &b = input(1LL * c.n * args.ldb);
  Array* bias = c.bias ? &input(c.n) : nullptr;
  Array* residual = c.residual ? &input(1LL * c.m * c.n) : nullptr;
  Array& out = output(1LL * c.m * c.n);
  expect_same([&](Ops& ops, const Side& at) {
    args.a = at(a);
    args.b = at(b);
    args.c = at(out);
    args.bias = at(bias);
    args.residual = at(residual);
    ops.gemm_nt(args, 1);
  });
}

TEST_P(GemmTest, RightSideAlongRowsEqualsReference) {
  const GemmCase& c = GetParam();
  GemmArgs args = shape();
  args.lda = c.k + c.pad;
  args.ldb = c.n + c.pad;
  args.ldc = c.n;
  Array &a = input(1LL * c.m * args.lda), &b = input(1LL * c.k * args.ldb);
  Array& out = output(1LL * c.m * c.n);
  expect_same([&](Ops& ops, const Side& at) {
    args.a = at(a);
    args.b = at(b);
    args.c = at(out);
    ops.gemm_nn(args, 1);
  });
}

// Each kernel of gemm_nt_kernel(), aligned and not, with partial tiles and every activation.
constexpr GemmCase kCases[] = {
    {1, 10, 7, kActNone, true, false},      {1, 24, 256, kActGelu, true, true},
    {3, 9, 132, kActRelu, false, true, 1},  {4, 8, 64, kActTanh, true, false},
    {7, 17, 33, kActSigmoid, true, true},   {8, 40, 128, kActRelu6, true, false, 4},
    {9, 33, 17, kActNone, false, false},    {32, 32, 16, kActGelu, true, true},
    {31, 70, 44, kActRelu, true, false, 3}, {33, 65, 1, kActNone, true, true},
    {64, 64, 64, kActNone, true, false},    {70, 130, 37, kActTanh, true, true},
    {65, 4, 100, kActRelu, false, true, 8}, {1000, 1540, 12, kActRelu, true, false},
    {1025, 1537, 9, kActNone, true, true},
};
INSTANTIATE_TEST_SUITE_P(Shapes, GemmTest, testing::ValuesIn(kCases));

TEST(GemmCasesTest, ReachEveryKernel) {
  std::set<KernelId> kernels;
  for (const GemmCase& c : kCases) kernels.insert(gemm_nt_kernel(c.m, c.n, 1));
  EXPECT_EQ(kernels.size(), 6u);
}

using BatchedGemmTest = OperatorTest;

TEST_F(BatchedGemmTest, HeadsInsideOneQkvMatrix) {
  // Given two sequences of 20 tokens with three heads of 8, as attention lays them out
  constexpr int kSequence = 20, kHeads = 3, kDim = 8, kHidden = kHeads * kDim;
  Array& qkv = input(2 * kSequence * 3 * kHidden);
  Array& scores = output(2 * kHeads * kSequence * kSequence);
  GemmArgs args{};
  args.m = args.n = args.ldc = kSequence;
  args.k = kDim;
  args.lda = args.ldb = 3 * kHidden;
  args.a_outer = args.b_outer = kSequence * 3 * kHidden;
  args.a_inner = args.b_inner = kDim;
  args.c_outer = kHeads * kSequence * kSequence;
  args.c_inner = kSequence * kSequence;
  args.inner_count = kHeads;
  args.alpha = 0.25f;
  expect_same([&](Ops& ops, const Side& at) {
    args.a = at(qkv);
    args.b = at(qkv) + kHidden;
    args.c = at(scores);
    ops.gemm_nt(args, 2 * kHeads);
  });
}

TEST_F(BatchedGemmTest, RightSideStridesPerBatch) {
  Array &a = input(6 * 30 * 20), &b = input(6 * 20 * 12), &out = output(6 * 30 * 12);
  GemmArgs args{};
  args.m = 30;
  args.n = args.ldb = args.ldc = 12;
  args.k = args.lda = 20;
  args.a_outer = 2 * (args.a_inner = 30 * 20);
  args.b_outer = 2 * (args.b_inner = 20 * 12);
  args.c_outer = 2 * (args.c_inner = 30 * 12);
  args.inner_count = 2;
  args.alpha = 1.0f;
  expect_same([&](Ops& ops, const Side& at) {
    args.a = at(a);
    args.b = at(b);
    args.c = at(out);
    ops.gemm_nn(args, 6);
  });
}

}  // namespace
}  // namespace gacer::kernels
