// SPDX-License-Identifier: Apache-2.0
#include "interpose/launch_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "interpose/sole_launcher.h"

namespace gacer::interpose {
namespace {

class LaunchCacheTest : public testing::Test {
 protected:
  static LaunchKey key(uint64_t handle) { return {handle, 0x5000, 7, 8, 9, 10}; }
  static KnownLaunch known(uint64_t id) { return {id, 70, 3, 2000, 11, 4, 0x55, false}; }
  bool finds(const LaunchKey& wanted, uint32_t generation = 1) {
    KnownLaunch found{};
    return cache_->find(wanted, generation, found);
  }

  std::unique_ptr<LaunchCache> cache_ = std::make_unique<LaunchCache>();
};

TEST_F(LaunchCacheTest, given_a_remembered_launch_then_all_of_it_comes_back) {
  KnownLaunch told = known(42);
  told.collective = true;
  cache_->remember(key(1), 1, told);
  KnownLaunch found{};
  ASSERT_TRUE(cache_->find(key(1), 1, found));
  EXPECT_EQ(found.kernel_id, 42u);
  EXPECT_EQ(found.blocks, 70u);
  EXPECT_EQ(found.cost_slot, 3u);
  EXPECT_EQ(found.guess_ns, 2000u);
  EXPECT_EQ(found.smem_bytes, 11u);
  EXPECT_EQ(found.stream_slot, 4u);
  EXPECT_EQ(found.shape_word, 0x55u);
  EXPECT_TRUE(found.collective);
}

TEST_F(LaunchCacheTest, given_a_launch_that_differs_in_one_thing_then_it_is_not_known) {
  cache_->remember(key(1), 1, known(42));
  EXPECT_TRUE(finds(key(1)));
  EXPECT_FALSE(finds(key(2)));
  for (auto member : {&LaunchKey::stream, &LaunchKey::grid_xy, &LaunchKey::grid_z_block_x,
                      &LaunchKey::block_yz}) {
    LaunchKey other = key(1);
    other.*member += 1;
    EXPECT_FALSE(finds(other));
  }
  LaunchKey other = key(1);
  other.smem_bytes += 1;
  EXPECT_FALSE(finds(other));
  EXPECT_FALSE(finds(key(1), 2)) << "of a generation that has passed";
}

TEST_F(LaunchCacheTest, given_an_empty_cache_then_a_launch_of_zeros_is_not_known) {
  EXPECT_FALSE(finds({0, 0, 0, 0, 0, 0}, 0));
  cache_->remember({0, 0, 0, 0, 0, 0}, 0, known(1));  // a default stream without a context
  EXPECT_FALSE(finds({0, 0, 0, 0, 0, 0}, 0));
}

TEST_F(LaunchCacheTest, given_writers_and_readers_then_no_reader_sees_a_mixture) {
  std::atomic<bool> stop{false};
  std::atomic<int> mixtures{0};
  std::vector<std::thread> threads;
  for (uint64_t writer = 0; writer < 2; ++writer)
    threads.emplace_back([&, writer] {
      for (uint64_t i = writer; !stop.load(); ++i) {
        KnownLaunch told = known(i);
        told.blocks = i * 3;
        told.shape_word = i * 5;
        cache_->remember(key(1), 1, told);
      }
    });
  KnownLaunch found{};
  for (int i = 0; i < 50'000; ++i)
    if (cache_->find(key(1), 1, found) &&
        (found.blocks != found.kernel_id * 3 || found.shape_word != found.kernel_id * 5))
      mixtures.fetch_add(1);
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mixtures.load(), 0);
}

TEST(SoleLauncherTest, given_one_thread_then_it_enters_each_time_until_another_one_comes) {
  SoleLauncher sole;
  for (int i = 0; i < 3; ++i) {
    if (!sole.enter()) GTEST_SKIP() << "membarrier is refused here: nobody is ever alone";
    sole.leave();
  }
  EXPECT_TRUE(sole.is_mine());
  bool other_entered = true;
  std::thread([&] { other_entered = sole.enter(); }).join();
  EXPECT_FALSE(other_entered);
  EXPECT_FALSE(sole.enter());
  EXPECT_FALSE(sole.is_mine());
}

// The owner counts without locked instructions, those who take the ownership away with: nothing may
// be lost at the change, whenever it comes.
TEST(SoleLauncherTest, given_threads_that_come_at_any_moment_then_no_addition_is_lost) {
  constexpr uint64_t kEach = 2'000;
  constexpr uint64_t kThreads = 3;
  for (int round = 0; round < 50; ++round) {
    SoleLauncher sole;
    std::atomic<uint64_t> sum{0};
    const auto add = [&] {
      for (uint64_t i = 0; i < kEach; ++i) {
        if (sole.enter()) {
          sum.store(sum.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          sole.leave();
        } else {
          sum.fetch_add(1, std::memory_order_relaxed);
        }
      }
    };
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; ++i) threads.emplace_back(add);
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(sum.load(), kThreads * kEach);
  }
}

}  // namespace
}  // namespace gacer::interpose
