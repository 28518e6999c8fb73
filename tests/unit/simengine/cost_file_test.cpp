// SPDX-License-Identifier: Apache-2.0
// Durations of kernels from a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/simdevice/engine/cost_file.h"
#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTable =
    "# traced on an A100\n"
    "kernel,grid,block,duration_us,sms,dram_fraction,issue_fraction\n"
    "gemm,512,256,500,,0.2,0.8\n"
    "gemm,,,100,,,\n"
    "\"/scale_[0-9]+/\",,,50,54,0.9,\n";

KernelShape shape(uint64_t blocks) {
  KernelShape result;
  result.threads_per_block = 256;
  result.blocks = blocks;
  return result;
}

TEST(CostFile, FirstRowThatFitsCounts) {
  const auto file = CostFile::parse(kTable, "costs.csv");
  ASSERT_TRUE(file.ok()) << file.error().message;
  Harness h;
  for (const auto& [kernel, blocks, us] :
       {std::tuple{"gemm", 512, 500.0}, {"gemm", 64, 100.0}, {"scale_12", 7, 50.0}}) {
    const auto found = file->find(h.device, kernel, shape(static_cast<uint64_t>(blocks)));
    ASSERT_TRUE(found) << kernel;
    const OpId op = h.kernel_of(h.stream(h.client(true)), found->blocks, found->cost);
    ASSERT_TRUE(h.run_dry());
    EXPECT_NEAR(static_cast<double>(h.duration_of(op)) / 1000, us, 0.02 * us) << kernel;
  }
  EXPECT_FALSE(file->find(h.device, "scale_x", shape(1)));
  EXPECT_FALSE(file->find(h.device, "other", shape(1)));
}

TEST(CostFile, AKernelOfHalfTheSmsLeavesTheOtherHalf) {
  const auto file = CostFile::parse(kTable, "costs.csv");
  ASSERT_TRUE(file.ok());
  Harness h;
  const auto found = file->find(h.device, "scale_1", shape(7));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->blocks, 54u);
  KernelCost other;
  other.threads = 1024;
  other.alone_ns = 10'000;
  h.kernel_of(h.stream(h.client(true)), found->blocks, found->cost);
  const OpId beside = h.kernel_of(h.stream(h.client(true)), 108, other);
  ASSERT_TRUE(h.run_dry());
  EXPECT_LT(h.duration_of(beside), 12'000u);  // two of its blocks on each free SM
}

TEST(CostFile, BadRowsAreNamedByLine) {
  const auto message = [](const std::string& text) {
    const auto file = CostFile::parse(text, "c.csv");
    return file.ok() ? std::string("ok") : file.error().message;
  };
  EXPECT_THAT(message("kernel,durations\n"), HasSubstr("c.csv:1: unknown column 'durations'"));
  const std::string header = "kernel,duration_us,dram_fraction\n";
  EXPECT_THAT(message(header + "a,12,\n\nb,x,\n"), HasSubstr("c.csv:4: duration_us: not a number"));
  EXPECT_THAT(message(header + "a,,\n"), HasSubstr("c.csv:2: duration_us: missing"));
  EXPECT_THAT(message(header + ",12,\n"), HasSubstr("c.csv:2: kernel: missing"));
  EXPECT_THAT(message(header + "a,12,1.5\n"), HasSubstr("c.csv:2: dram_fraction: more than 1"));
  EXPECT_THAT(message(header + "a,12,0.1,9\n"), HasSubstr("c.csv:2: more fields than columns"));
  EXPECT_THAT(message(header + "/(/,12,\n"),
              HasSubstr("c.csv:2: kernel: not a regular expression"));
  EXPECT_EQ(message(header), "ok");
  EXPECT_THAT(CostFile::read("/nonexistent/c.csv").error().message, HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace gacer::simdevice::test
