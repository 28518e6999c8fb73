// SPDX-License-Identifier: Apache-2.0
// Which kernel and grid DeviceOps takes for a shape.
#include "kernels/host/device_ops.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gacer::kernels {
namespace {

struct Launched {
  KernelId kernel;
  GridSize grid;
  unsigned shared_bytes;
};

class RecordingLauncher final : public Launcher {
 public:
  void launch(KernelId kernel, GridSize grid, unsigned shared_bytes, void**) override {
    launches.push_back({kernel, grid, shared_bytes});
  }
  std::vector<Launched> launches;
};

unsigned divide(unsigned x, FastDivisor by) {
  const auto high = static_cast<unsigned>((std::uint64_t{x} * by.multiplier) >> 32);
  return (high + x) >> by.shift;
}

TEST(FastDivisorTest, EqualsDivision) {
  for (int d : {1, 2, 3, 5, 7, 9, 25, 49, 121, 3025, 12544, 50176, 1 << 20, 1000003, 0x7ffffffe}) {
    const FastDivisor by = fast_divisor(d);
    for (unsigned base :
         {0u, 1u, unsigned(d) - 1, unsigned(d), 12345678u, 0x40000000u, 0x7ffffff0u})
      for (unsigned x = base; x < base + 16; ++x)
        ASSERT_EQ(divide(x, by), x / unsigned(d)) << x << " / " << d;
  }
}

TEST(GemmChoiceTest, FewRowsReadEachWeightOnce) {
  EXPECT_EQ(gemm_nt_kernel(1, 768, 1), KernelId::gemv_rows1);
  EXPECT_EQ(gemm_nt_kernel(4, 768, 1), KernelId::gemv_rows4);
  EXPECT_EQ(gemm_nt_kernel(8, 768, 1), KernelId::gemv_rows8);
  EXPECT_EQ(gemm_nt_kernel(9, 768, 1), KernelId::gemm_nt_32x32);
  EXPECT_EQ(gemm_nt_kernel(1, 768, 2), KernelId::gemm_nt_32x32);
}

TEST(GemmChoiceTest, LargeTilesOnlyWhereTheyFillTheDevice) {
  EXPECT_EQ(gemm_nt_kernel(128, 768, 1), KernelId::gemm_nt_64x64);
  EXPECT_EQ(gemm_nt_kernel(128 * 32, 768, 1), KernelId::gemm_nt_128x128);
}

TEST(GemmChoiceTest, BertBatchOneLeavesSmsIdle) {
  // Given the 128 x 768 x 768 product of a BERT layer
  RecordingLauncher launcher;
  GemmArgs args{};
  args.m = 128;
  args.n = args.k = args.lda = args.ldb = args.ldc = 768;
  args.inner_count = 1;
  // When it is launched
  DeviceOps(launcher).gemm_nt(args, 1);
  // Then it has 24 blocks, far fewer than a large GPU has SMs
  ASSERT_EQ(launcher.launches.size(), 1u);
  EXPECT_EQ(launcher.launches[0].grid.x, 12u);
  EXPECT_EQ(launcher.launches[0].grid.y, 2u);
}

TEST(ConvChoiceTest, PointwiseAndLargeBatches) {
  ConvArgs args{};
  args.batch = 1;
  args.in_channels = args.out_channels = 256;
  args.in_h = args.in_w = args.out_h = args.out_w = 14;
  args.kernel_h = args.kernel_w = args.stride = 1;
  EXPECT_EQ(conv_kernel(args), KernelId::conv_1x1_64x64);
  args.batch = 64;
  EXPECT_EQ(conv_kernel(args), KernelId::conv_1x1_128x128);
  args.stride = 2;
  args.out_h = args.out_w = 7;
  args.batch = 256;
  EXPECT_EQ(conv_kernel(args), KernelId::conv_128x128);
  args.out_channels = 64;
  EXPECT_EQ(conv_kernel(args), KernelId::conv_64x64);
}

TEST(GridTest, CoversPartialTilesAndBatches) {
  RecordingLauncher launcher;
  GemmArgs args{};
  args.m = 65;
  args.n = 1;
  args.k = 3;
  args.inner_count = 2;
  DeviceOps(launcher).gemm_nn(args, 6);
  DeviceOps(launcher).fill(nullptr, 257, 0.0f);
  DeviceOps(launcher).attention_decode({nullptr, nullptr, nullptr, nullptr, 12, 64, 100, 100, 1.0f},
                                       3);
  EXPECT_EQ(launcher.launches[0].grid.x, 1u);
  EXPECT_EQ(launcher.launches[0].grid.y, 2u);
  EXPECT_EQ(launcher.launches[0].grid.z, 6u);
  EXPECT_EQ(launcher.launches[1].grid.x, 2u);
  EXPECT_EQ(launcher.launches[2].grid.x, 12u);
  EXPECT_EQ(launcher.launches[2].grid.y, 3u);
  EXPECT_EQ(launcher.launches[2].shared_bytes, 400u);
}

}  // namespace
}  // namespace gacer::kernels
