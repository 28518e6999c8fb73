// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/cost_estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace gacer::regulator {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kGuessNs = 30 * kUs;

LaunchEvent launch_of(uint64_t kernel_id) {
  LaunchEvent launch;
  launch.kernel_id = kernel_id;
  launch.kind = 1;
  launch.blocks = 4096;
  launch.block_threads = 256;
  launch.cost_slot = static_cast<uint32_t>(kernel_id);
  launch.cost_ns = kGuessNs;
  return launch;
}

// A stream that runs a repeating sequence back to back, polled every 100..130 us; its host keeps
// `ahead` launches queued and marks each `mark_every`-th.
class Stream {
 public:
  Stream(std::vector<uint64_t> durations_ns, uint32_t mark_every = 1)
      : durations_ns_(std::move(durations_ns)), mark_every_(mark_every) {}

  void run(uint64_t period_ns) {
    const uint64_t stop_ns = now_ns_ + period_ns;
    std::uniform_int_distribution<uint64_t> gap(100 * kUs, 130 * kUs);
    while (now_ns_ < stop_ns) poll_after(gap(random_));
  }
  void poll_after(uint64_t gap_ns) {
    fill();
    now_ns_ += gap_ns;
    Observation seen;
    seen.completed_cost_ns = completed_at(now_ns_);
    seen.now_ns = now_ns_;
    seen.others_busy_until_ns = others_busy ? now_ns_ : 0;
    seen.all_marked_since_ns = mark_every_ == 1 ? 0 : UINT64_MAX;
    estimator.progressed(0, seen);
  }
  double estimate_us(size_t kernel) {
    return estimator.find(launch_of(kernel))->duration_ns / static_cast<double>(kUs);
  }
  void set_duration(size_t kernel, uint64_t duration_ns) { durations_ns_[kernel] = duration_ns; }

  CostEstimator estimator{DeviceShape{}};
  bool others_busy = false;
  double outlier_probability = 0;
  double missing_probability = 0;

 private:
  struct Queued {
    uint64_t cost_ns, end_ns;
    bool marked;
  };
  // Every launch that could end within the next polls is queued well before.
  void fill() {
    while (end_ns_ < now_ns_ + 2000 * kUs) {
      LaunchEvent launch = launch_of(next_);
      cost_ns_ += kGuessNs;
      launch.stream_cost_ns = cost_ns_;
      launch.submit_ns = now_ns_ + 1;
      if (!chance(missing_probability)) estimator.launched(launch);
      end_ns_ = std::max(end_ns_, now_ns_) + duration();
      queue_.push_back({cost_ns_, end_ns_, ++launches_ % mark_every_ == 0});
      next_ = (next_ + 1) % durations_ns_.size();
    }
  }
  uint64_t duration() { return durations_ns_[next_] * (chance(outlier_probability) ? 20 : 1); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  uint64_t completed_at(uint64_t time_ns) {
    std::erase_if(queue_, [&](const Queued& each) {
      if (each.end_ns > time_ns) return false;
      if (each.marked) completed_ns_ = each.cost_ns;
      return true;
    });
    return completed_ns_;
  }

  std::vector<uint64_t> durations_ns_;
  uint32_t mark_every_;
  std::vector<Queued> queue_;
  std::mt19937_64 random_{7};
  uint64_t now_ns_ = 1'000'000, end_ns_ = 0, cost_ns_ = 0, completed_ns_ = 0, launches_ = 0;
  size_t next_ = 0;
};

void expect_within(double value, double wanted, double tolerance) {
  EXPECT_NEAR(value, wanted, wanted * tolerance);
}

TEST(CostEstimator, TellsAShortFromALongKernelFarBelowThePollInterval) {
  Stream stream({20 * kUs, 500 * kUs});
  stream.run(2'000'000 * kUs);
  expect_within(stream.estimate_us(0), 20, 0.2);
  expect_within(stream.estimate_us(1), 500, 0.2);
}

TEST(CostEstimator, ConvergesWithinATenthOfASecondForOneKernel) {
  Stream stream({200 * kUs});
  stream.run(100'000 * kUs);
  expect_within(stream.estimate_us(0), 200, 0.1);
}

TEST(CostEstimator, ManyKernelsOfOneModel) {
  const std::vector<uint64_t> durations = {15 * kUs,  400 * kUs, 60 * kUs,
                                           120 * kUs, 800 * kUs, 35 * kUs};
  Stream stream(durations);
  stream.run(5'000'000 * kUs);
  double sum = 0;
  for (size_t i = 0; i < durations.size(); ++i) sum += stream.estimate_us(i);
  expect_within(sum, 1430, 0.05);
  expect_within(stream.estimate_us(1), 400, 0.2);
  expect_within(stream.estimate_us(4), 800, 0.2);
}

TEST(CostEstimator, SparseMarksGiveTheRightSum) {
  Stream stream({20 * kUs, 60 * kUs, 100 * kUs}, 16);
  stream.run(2'000'000 * kUs);
  expect_within(stream.estimate_us(0) + stream.estimate_us(1) + stream.estimate_us(2), 180, 0.1);
}

TEST(CostEstimator, OutliersDoNotCarryItAway) {
  Stream stream({100 * kUs});
  stream.outlier_probability = 0.01;  // twenty times as long
  stream.run(2'000'000 * kUs);
  expect_within(stream.estimate_us(0), 100, 0.35);
}

TEST(CostEstimator, FollowsAKernelWhoseInputsChange) {
  Stream stream({100 * kUs});
  stream.run(500'000 * kUs);
  stream.set_duration(0, 300 * kUs);
  stream.run(500'000 * kUs);
  expect_within(stream.estimate_us(0), 300, 0.15);
}

TEST(CostEstimator, TimesWithCompanyDoNotChangeWhatWasLearntAlone) {
  Stream stream({100 * kUs});
  stream.run(500'000 * kUs);
  stream.others_busy = true;
  stream.set_duration(0, 250 * kUs);
  stream.run(500'000 * kUs);
  expect_within(stream.estimate_us(0), 100, 0.1);
}

TEST(CostEstimator, TimesWithCompanyGiveAFirstIdea) {
  Stream stream({1000 * kUs});
  stream.others_busy = true;
  stream.run(2'000'000 * kUs);
  EXPECT_GT(stream.estimate_us(0), 500);
}

TEST(CostEstimator, TimesWithCompanyMayLowerAnEstimate) {
  Stream stream({300 * kUs});
  stream.run(500'000 * kUs);
  stream.others_busy = true;
  stream.set_duration(0, 100 * kUs);
  stream.run(500'000 * kUs);
  expect_within(stream.estimate_us(0), 100, 0.2);
}

TEST(CostEstimator, MissingRecordsDoNotBias) {
  Stream stream({50 * kUs, 150 * kUs});
  stream.missing_probability = 0.1;
  stream.run(3'000'000 * kUs);
  expect_within(stream.estimate_us(0) + stream.estimate_us(1), 200, 0.15);
}

TEST(CostEstimator, PublishesACostOnlyWhenItMoved) {
  Stream stream({200 * kUs});
  std::vector<KernelCost> costs;
  stream.estimator.drain_costs(5, 10, costs);
  EXPECT_TRUE(costs.empty()) << "nothing learnt yet";
  stream.run(500'000 * kUs);
  stream.estimator.drain_costs(5, 10, costs);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].process, 5u);
  EXPECT_EQ(costs[0].cost_slot, 0u);
  expect_within(costs[0].cost_ns, 200e3, 0.1);
  stream.run(500'000 * kUs);
  stream.estimator.drain_costs(5, 10, costs);
  EXPECT_EQ(costs.size(), 1u);
}

TEST(CostEstimator, CostIsDurationTimesSmShare) {
  CostEstimator estimator(DeviceShape{100, 2048, 65536, 0, 32});
  LaunchEvent launch = launch_of(1);
  launch.blocks = 80;  // 8 an SM: 10 of 100 SMs
  launch.cost_ns = 5'000;
  estimator.launched(launch);
  EXPECT_DOUBLE_EQ(estimator.find(launch)->sm_share, 0.1);
  EXPECT_DOUBLE_EQ(estimator.find(launch)->duration_ns, 50e3);
}

TEST(CostEstimator, UnreadRecordsOfAStreamAreBounded) {
  CostEstimator estimator{DeviceShape{}};
  StreamTimeline timeline;
  LaunchEvent launch = launch_of(1);
  for (uint64_t i = 1; i <= 10 * StreamTimeline::kMaxPending; ++i) {
    launch.stream_cost_ns = i * kGuessNs;
    timeline.launched(launch);
  }
  EXPECT_EQ(timeline.pending(), StreamTimeline::kMaxPending);
}

}  // namespace
}  // namespace gacer::regulator
