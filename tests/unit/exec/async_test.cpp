// SPDX-License-Identifier: Apache-2.0
// kernels/async.cu and kernels/cluster.cu: copies with barriers, printf, the heap, clusters.
#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "tests/unit/exec/grid_harness.h"

namespace gacer::simdevice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kBudget = 30'000'000;

class Async : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<Program> load() { return device_.load(kernel_text("async", GetParam())); }
  GridDevice device_;
};

TEST_P(Async, BarriersAndPipelinesWaitForCopies) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  std::vector<int> in(1024);
  std::iota(in.begin(), in.end(), 7);
  const uint64_t from = device_.upload(in), to = device_.allocate(4096);
  const Fault fault = device_.launch_grid(*program, "copies", shape(1, 256),
                                          Params().add(from).add(to), {.budget = kBudget});
  ASSERT_EQ(fault.message, "");
  const auto out = device_.download<int>(to, 1024);
  for (size_t i = 0; i < 1024; ++i) EXPECT_EQ(out[i], in[i / 256 * 256 + 255 - i % 256]) << i;
}

TEST_P(Async, ProducersAndConsumersTakeTurns) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  const int rounds = 20;
  std::vector<int> in(rounds * 64);
  std::iota(in.begin(), in.end(), 1);
  const uint64_t from = device_.upload(in), to = device_.allocate(in.size() * 4);
  const Fault fault =
      device_.launch_grid(*program, "producer_consumer", shape(1, 128),
                          Params().add(from).add(to).add(rounds), {.budget = kBudget});
  ASSERT_EQ(fault.message, "");
  const auto out = device_.download<int>(to, in.size());
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], 2 * in[i / 64 * 64 + 63 - i % 64]) << i;
}

TEST_P(Async, PrintfConvertsAsTheHostDoes) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  std::string text;
  const uint64_t name = device_.upload(std::vector<char>{'h', 'i', '\0'});
  const Fault fault = device_.launch_grid(
      *program, "prints", shape(1, 32), Params().add(name).add(42),
      {.budget = kBudget, .print = [&](std::string_view more) { text += more; }});
  ASSERT_EQ(fault.message, "");
  EXPECT_THAT(text, HasSubstr("hi|   42|ab    |    3.14|z|ff|-5|44|%|"));
  EXPECT_THAT(text,
              HasSubstr("\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
                        "27 28 29 30 31 32 33 34\n"));
}

TEST_P(Async, AFailedAssertionNamesThePlaceAndTheThread) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(device_.launch_grid(*program, "asserts", shape(1, 64), Params().add(64), {}).message,
            "");
  const Fault fault = device_.launch_grid(*program, "asserts", shape(1, 64), Params().add(40), {});
  EXPECT_EQ(fault.kind, FaultKind::kAssert);
  EXPECT_THAT(fault.message, HasSubstr("thread (40,0,0)"));
  EXPECT_THAT(fault.message, HasSubstr("async.cu"));
}

TEST_P(Async, TheHeapOutlivesALaunch) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  DeviceHeap heap(1 << 20);
  const uint64_t heads = device_.allocate(128 * 8), sums = device_.allocate(128 * 4);
  const GridOptions options{.threads = 2, .budget = kBudget, .heap = &heap};
  ASSERT_EQ(
      device_
          .launch_grid(*program, "build_lists", shape(2, 64), Params().add(heads).add(10), options)
          .message,
      "");
  EXPECT_FALSE(heap.resize(1 << 21)) << "kernels have memory of it";
  ASSERT_EQ(
      device_
          .launch_grid(*program, "sum_lists", shape(2, 64), Params().add(heads).add(sums), options)
          .message,
      "");
  const auto out = device_.download<int>(sums, 128);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], 10 * (i % 64) + 45);
  EXPECT_TRUE(heap.resize(1 << 21)) << "all was freed";
}

TEST_P(Async, AFullHeapGivesNull) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  DeviceHeap heap(64);
  const uint64_t heads = device_.allocate(32 * 8), sums = device_.allocate(32 * 4);
  const GridOptions options{.budget = kBudget, .heap = &heap};
  for (const char* kernel : {"build_lists", "sum_lists"}) {
    Params params;
    params.add(heads);
    if (std::string(kernel) == "build_lists") {
      params.add(10);
    } else {
      params.add(sums);
    }
    ASSERT_EQ(device_.launch_grid(*program, kernel, shape(1, 32), params, options).message, "");
  }
}

TEST_P(Async, FreeOfAnythingElseIsAFault) {
  const auto program = load();
  ASSERT_NE(program, nullptr);
  DeviceHeap heap;
  const uint64_t node = device_.upload(std::vector<uint64_t>{1, 0}),
                 heads = device_.upload(std::vector<uint64_t>{node}), sums = device_.allocate(4);
  const Fault fault = device_.launch_grid(*program, "sum_lists", shape(1, 1),
                                          Params().add(heads).add(sums), {.heap = &heap});
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
  EXPECT_THAT(fault.message, HasSubstr("free of what malloc did not give"));
}

INSTANTIATE_TEST_SUITE_P(Targets, Async, ::testing::Values("75", "80", "90"));

class Clusters : public ::testing::Test {
 protected:
  void SetUp() override {
    program_ = device_.load(kernel_text("cluster", "90"));
    ASSERT_NE(program_, nullptr);
  }
  GridDevice device_;
  std::shared_ptr<Program> program_;
};

TEST_F(Clusters, AKernelSaysHowManyBlocksAClusterHas) {
  std::map<std::string, std::array<uint32_t, 3>> clusters;
  for (const auto& kernel : program_->kernels()) clusters[kernel.name] = kernel.cluster;
  EXPECT_THAT(clusters["cluster_histogram"], ElementsAre(4, 1, 1));
  EXPECT_THAT(clusters["cluster_ids"], ElementsAre(0, 0, 0));
}

TEST_F(Clusters, BlocksSeeEachOthersSharedMemory) {
  const int n = 1000, clusters = 3;
  std::vector<uint32_t> in(n * clusters), expected(256 * clusters);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<uint32_t>(i * i * 31 + 5);
    ++expected[i / n * 256 + in[i] % 256];
  }
  const uint64_t from = device_.upload(in), to = device_.allocate(expected.size() * 4);
  LaunchShape launch = shape(4 * clusters, 64);
  launch.cluster = {4, 1, 1};
  const Fault fault =
      device_.launch_grid(*program_, "cluster_histogram", launch, Params().add(from).add(to).add(n),
                          {.threads = 2, .budget = kBudget});
  ASSERT_EQ(fault.message, "");
  EXPECT_EQ(device_.download<uint32_t>(to, expected.size()), expected);
}

TEST_F(Clusters, IdsFollowTheClustersOfTheGrid) {
  LaunchShape launch = shape(6, 32);
  launch.grid[1] = 4;
  launch.cluster = {3, 2, 1};
  const uint64_t out = device_.allocate(24 * 6 * 4);
  ASSERT_EQ(device_.launch_grid(*program_, "cluster_ids", launch, Params().add(out), {}).message,
            "");
  const auto rows = device_.download<uint32_t>(out, 24 * 6);
  for (uint32_t y = 0; y < 4; ++y)
    for (uint32_t x = 0; x < 6; ++x) {
      const std::vector<uint32_t> row(&rows[(y * 6 + x) * 6], &rows[(y * 6 + x) * 6] + 6);
      EXPECT_THAT(row, ElementsAre(x % 3 + 3 * (y % 2), 6, x % 3, y % 2, x / 3, 2))
          << x << " " << y;
    }
}

TEST_F(Clusters, BulkCopiesReachAllBlocksAndTellTheirBarriers) {
  std::vector<uint32_t> in(64);
  std::iota(in.begin(), in.end(), 100u);
  const uint64_t from = device_.upload(in), to = device_.allocate(3 * 64 * 4);
  LaunchShape launch = shape(2, 64);
  launch.cluster = {2, 1, 1};
  const Fault fault = device_.launch_grid(*program_, "multicast", launch,
                                          Params().add(from).add(to), {.budget = kBudget});
  ASSERT_EQ(fault.message, "");
  const auto out = device_.download<uint32_t>(to, 3 * 64);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(out[i], in[i]);
    EXPECT_EQ(out[64 + i], in[i] + 1);
    EXPECT_EQ(out[128 + i], 2 * in[i] + 1);
  }
}

TEST_F(Clusters, OfBlocksThatDoNotDivideTheGridAreRefused) {
  LaunchShape launch = shape(6, 32);
  launch.cluster = {4, 1, 1};
  const uint64_t out = device_.allocate(24 * 6 * 4);
  const Fault fault = device_.launch_grid(*program_, "cluster_ids", launch, Params().add(out), {});
  EXPECT_EQ(fault.kind, FaultKind::kUnsupported);
}

}  // namespace
}  // namespace gacer::simdevice::test
