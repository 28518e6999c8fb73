// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/arrivals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace gacer::kernels {
namespace {

std::vector<std::uint64_t> first_arrivals(Arrivals arrivals, int count) {
  std::vector<std::uint64_t> times_ns;
  for (int i = 0; i < count; ++i) times_ns.push_back(arrivals.next_ns().value());
  return times_ns;
}

Arrivals poisson(double rate_per_s, unsigned seed) {
  return std::move(*Arrivals::create({ArrivalKind::kPoisson, rate_per_s, {}}, seed).value);
}

TEST(ArrivalSpecTest, ParsesEachKind) {
  EXPECT_EQ(parse_arrival("closed").value->kind, ArrivalKind::kClosed);

  const auto random = parse_arrival("poisson:12.5");
  ASSERT_TRUE(random);
  EXPECT_EQ(random.value->kind, ArrivalKind::kPoisson);
  EXPECT_DOUBLE_EQ(random.value->rate_per_s, 12.5);

  const auto trace = parse_arrival("trace:a:b.txt");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace.value->trace_path, "a:b.txt");
}

TEST(ArrivalSpecTest, RefusesAndNamesWhatWasGiven) {
  for (const char* bad : {"", "open", "poisson", "poisson:", "poisson:0", "poisson:-1", "poisson:x",
                          "poisson:5x", "poisson:inf", "poisson:nan", "poisson:1e9", "trace:"}) {
    const auto parsed = parse_arrival(bad);
    EXPECT_FALSE(parsed) << bad;
    EXPECT_NE(parsed.error.find("--arrival"), std::string::npos) << bad;
  }
}

TEST(PoissonTest, SameSeedSameArrivals) {
  EXPECT_EQ(first_arrivals(poisson(100.0, 7), 50), first_arrivals(poisson(100.0, 7), 50));
  EXPECT_NE(first_arrivals(poisson(100.0, 7), 50), first_arrivals(poisson(100.0, 8), 50));
}

TEST(PoissonTest, IncreasesAtTheAskedRate) {
  // Given 20000 arrivals at 100 per second
  const auto times_ns = first_arrivals(poisson(100.0, 3), 20000);
  // Then they never go back and the mean gap is 10 ms; five standard errors are 0.36 ms
  EXPECT_TRUE(std::is_sorted(times_ns.begin(), times_ns.end()));
  EXPECT_NEAR(static_cast<double>(times_ns.back()) * 1e-6 / 20000, 10.0, 0.36);
}

TEST(PoissonTest, GapsVaryAsExponentialOnesDo) {
  const auto times_ns = first_arrivals(poisson(1000.0, 5), 20000);
  int above_mean = 0;
  for (std::size_t i = 1; i < times_ns.size(); ++i)
    above_mean += times_ns[i] - times_ns[i - 1] > 1'000'000;
  // P(gap > mean) = 1/e; five standard errors are 0.017
  EXPECT_NEAR(above_mean / 19999.0, 0.3679, 0.017);
}

TEST(TraceTest, ReadsSecondsCommentsAndBlankLines) {
  const auto trace = parse_trace("# start\n0\n 0.5 # half\r\n\n0.5\n2e0\n", "t");
  ASSERT_TRUE(trace) << trace.error;
  EXPECT_EQ(*trace.value, (std::vector<double>{0.0, 0.5, 0.5, 2.0}));
}

TEST(TraceTest, ErrorsNameFileAndLine) {
  const auto error = [](const char* content) { return parse_trace(content, "t.txt").error; };
  EXPECT_EQ(error("0\nabc\n"), "t.txt:2: 'abc' is not a time in seconds");
  EXPECT_EQ(error("0\n\n-1\n"), "t.txt:3: '-1' is not a time in seconds");
  EXPECT_EQ(error("0 1\n"), "t.txt:1: '0 1' is not a time in seconds");
  EXPECT_EQ(error("1e300\n"), "t.txt:1: '1e300' is not a time in seconds");
  EXPECT_EQ(error("2\n1\n"), "t.txt:2: arrival 1 is before the last one");
  EXPECT_EQ(error("# nothing\n"), "t.txt: holds no arrival");
}

TEST(TraceTest, ArrivesAsTheFileSaysThenEnds) {
  // Given a trace of two arrivals
  const std::string path = testing::TempDir() + "trace_" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << "0.001\n0.25\n";
  // When it is played
  auto arrivals = Arrivals::create({ArrivalKind::kTrace, 0.0, path}, 1);
  std::remove(path.c_str());
  ASSERT_TRUE(arrivals) << arrivals.error;
  // Then both come, and no third
  EXPECT_EQ(arrivals.value->next_ns(), 1'000'000u);
  EXPECT_EQ(arrivals.value->next_ns(), 250'000'000u);
  EXPECT_EQ(arrivals.value->next_ns(), std::nullopt);
}

TEST(TraceTest, MissingFileIsOneError) {
  const auto arrivals = Arrivals::create({ArrivalKind::kTrace, 0.0, "/no/such/trace"}, 1);
  ASSERT_FALSE(arrivals);
  EXPECT_NE(arrivals.error.find("/no/such/trace"), std::string::npos);
}

}  // namespace
}  // namespace gacer::kernels
