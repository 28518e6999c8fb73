// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/latency_stats.h"

#include <gtest/gtest.h>

#include <numeric>

namespace gacer::kernels {
namespace {

TEST(PercentileTest, IsTheNearestRank) {
  std::vector<std::uint64_t> values(100);
  std::iota(values.begin(), values.end(), 1);
  EXPECT_EQ(percentile(values, 50.0), 50u);
  EXPECT_EQ(percentile(values, 99.0), 99u);
  EXPECT_EQ(percentile(values, 99.5), 100u);
  EXPECT_EQ(percentile(values, 100.0), 100u);
  EXPECT_EQ(percentile(values, 0.1), 1u);
}

TEST(PercentileTest, OfFewValuesIsOneOfThem) {
  EXPECT_EQ(percentile({7}, 50.0), 7u);
  EXPECT_EQ(percentile({7}, 99.0), 7u);
  EXPECT_EQ(percentile({1, 2, 3}, 50.0), 2u);
  EXPECT_EQ(percentile({1, 2}, 50.0), 1u);
  EXPECT_EQ(percentile({1, 2}, 51.0), 2u);
}

TEST(SummaryTest, SortsAndConvertsToMilliseconds) {
  const LatencySummary summary = summarise({4'000'000, 1'000'000, 3'000'000, 2'000'000});
  EXPECT_DOUBLE_EQ(summary.p50_ms, 2.0);
  EXPECT_DOUBLE_EQ(summary.p90_ms, 4.0);
  EXPECT_DOUBLE_EQ(summary.p99_ms, 4.0);
  EXPECT_DOUBLE_EQ(summary.max_ms, 4.0);
  EXPECT_DOUBLE_EQ(summary.mean_ms, 2.5);
}

TEST(SummaryTest, OfNothingIsZero) {
  EXPECT_EQ(summarise({}).max_ms, 0.0);
}

}  // namespace
}  // namespace gacer::kernels
