// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/request_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace gacer::kernels {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

class VirtualClock final : public LoopClock {
 public:
  std::uint64_t now_ns() override { return now_ns_; }
  void sleep_until_ns(std::uint64_t time_ns) override { now_ns_ = std::max(now_ns_, time_ns); }
  void advance(std::uint64_t delta_ns) { now_ns_ += delta_ns; }

 private:
  std::uint64_t now_ns_ = 5'000'000'000;
};

Arrivals closed() {
  return std::move(*Arrivals::create({}, 1).value);
}

Arrivals trace(const std::string& content) {
  const std::string path = testing::TempDir() + "loop_" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << content;
  auto arrivals = Arrivals::create({ArrivalKind::kTrace, 0.0, path}, 1);
  std::remove(path.c_str());
  return std::move(*arrivals.value);
}

class RequestLoopTest : public testing::Test {
 protected:
  // Requests of 10 ms each.
  LoopResult run(Arrivals arrivals, const LoopLimits& limits) {
    const auto request = [this] {
      clock_.advance(10 * kMs);
      return ++served_ != fail_at_;
    };
    return run_requests(request, arrivals, limits, clock_);
  }

  VirtualClock clock_;
  int served_ = 0;
  int fail_at_ = -1;
};

TEST_F(RequestLoopTest, ClosedLoopCountsFromTheStartOfEach) {
  const LoopResult result = run(closed(), {3, 0.0, {}});
  EXPECT_EQ(result.latencies_ns, (std::vector<std::uint64_t>{10 * kMs, 10 * kMs, 10 * kMs}));
  EXPECT_DOUBLE_EQ(result.elapsed_s, 0.03);
  EXPECT_FALSE(result.failed);
}

TEST_F(RequestLoopTest, OpenLoopCountsFromTheArrivalAndQueues) {
  // Given three arrivals at once and one after an idle time, each served in 10 ms
  const LoopResult result = run(trace("0.1\n0.1\n0.105\n0.5\n"), {0, 0.0, {}});
  // Then the queue shows in the latencies and the idle time does not
  EXPECT_EQ(result.latencies_ns,
            (std::vector<std::uint64_t>{10 * kMs, 20 * kMs, 25 * kMs, 10 * kMs}));
  EXPECT_DOUBLE_EQ(result.elapsed_s, 0.51);
}

TEST_F(RequestLoopTest, EndsByTime) {
  EXPECT_EQ(run(closed(), {0, 0.045, {}}).latencies_ns.size(), 5u);
}

TEST_F(RequestLoopTest, WhicheverLimitComesFirst) {
  EXPECT_EQ(run(closed(), {2, 10.0, {}}).latencies_ns.size(), 2u);
}

TEST_F(RequestLoopTest, TimeEndsTheWaitForAnArrival) {
  const LoopResult result = run(trace("0.01\n100\n"), {0, 1.0, {}});
  EXPECT_EQ(result.latencies_ns.size(), 1u);
  EXPECT_LE(clock_.now_ns(), 5'000'000'000 + 1'000 * kMs);
}

TEST_F(RequestLoopTest, StopIsAskedBetweenRequests) {
  const LoopResult result = run(closed(), {0, 0.0, [this] { return served_ == 4; }});
  EXPECT_EQ(result.latencies_ns.size(), 4u);
}

TEST_F(RequestLoopTest, StopIsAskedWhileWaiting) {
  const std::uint64_t stop_ns = clock_.now_ns() + 200 * kMs;
  const LoopResult result =
      run(trace("50\n"), {0, 0.0, [&] { return clock_.now_ns() >= stop_ns; }});
  EXPECT_TRUE(result.latencies_ns.empty());
  EXPECT_LT(clock_.now_ns(), stop_ns + 1'000 * kMs);
}

TEST_F(RequestLoopTest, AFailedRequestEndsTheLoopUncounted) {
  fail_at_ = 3;
  const LoopResult result = run(closed(), {10, 0.0, {}});
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(result.latencies_ns.size(), 2u);
}

}  // namespace
}  // namespace gacer::kernels
