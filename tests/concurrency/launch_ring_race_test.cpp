// SPDX-License-Identifier: Apache-2.0
// Many producers, one reader: what push accepted comes out once and in each producer's order.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/shm/launch_ring.h"

namespace gacer::shm {
namespace {

constexpr uint64_t kProducers = 4;
constexpr uint64_t kPushes = 20'000;

LaunchEntry entry_of(uint64_t producer, uint64_t number) {
  LaunchEntry entry;
  entry.kernel_id = producer;
  entry.submit_ns = number;
  entry.stream_cost_ns = number * 3;  // torn records would not agree
  return entry;
}

class LaunchRingRace : public testing::Test {
 protected:
  void SetUp() override { format_ring(*segment_); }

  // Pushes kPushes numbers; `retry` waits for room, otherwise a full ring loses the record.
  uint64_t produce(uint64_t producer, bool retry) {
    uint64_t accepted = 0;
    for (uint64_t i = 0; i < kPushes; ++i) {
      bool pushed = push_launch(*segment_, entry_of(producer, i));
      while (!pushed && retry) {
        std::this_thread::yield();
        pushed = push_launch(*segment_, entry_of(producer, i));
      }
      accepted += pushed ? 1 : 0;
    }
    running_.fetch_sub(1);
    return accepted;
  }

  // The reader: checks order and integrity, counts records by producer, until all producers are
  // done and the ring is empty. The clock stands still: a producer that is merely slow must not be
  // skipped here.
  void consume() {
    LaunchEntry entry;
    for (;;) {
      const bool last_round = running_.load() == 0;
      while (reader_.pop(entry, 1)) check(entry);
      if (last_round) return;
      std::this_thread::yield();
    }
  }
  void check(const LaunchEntry& entry) {
    ASSERT_LT(entry.kernel_id, kProducers);
    ASSERT_EQ(entry.stream_cost_ns, entry.submit_ns * 3);
    ASSERT_GE(entry.submit_ns, next_[entry.kernel_id]);
    next_[entry.kernel_id] = entry.submit_ns + 1;
    ++received_[entry.kernel_id];
  }

  void run(bool retry) {
    std::array<uint64_t, kProducers> accepted{};
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kProducers; ++i)
      threads.emplace_back([&, i] { accepted[i] = produce(i, retry); });
    consume();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(received_, accepted);
  }

  std::unique_ptr<abi::Segment> segment_ = std::make_unique<abi::Segment>();
  LaunchRingReader reader_{*segment_};
  std::atomic<uint64_t> running_{kProducers};
  std::array<uint64_t, kProducers> next_{};
  std::array<uint64_t, kProducers> received_{};
};

TEST_F(LaunchRingRace, EveryAcceptedRecordComesOutOnceInOrder) {
  run(true);
  for (const uint64_t count : received_) EXPECT_EQ(count, kPushes);
}

TEST_F(LaunchRingRace, AFullRingLosesOnlyWhatPushRefused) {
  run(false);
}

TEST_F(LaunchRingRace, ForgedControlWordsNeitherHangTheReaderNorTheProducers) {
  std::atomic<bool> stop{false};
  std::thread forger([&] {
    for (uint64_t i = 0; !stop.load(); ++i) {
      segment_->ring_control.tail.store(i * 0x9e3779b97f4a7c15ULL, std::memory_order_relaxed);
      segment_->ring[i % abi::kRingSlots].sequence.store(i << 20, std::memory_order_relaxed);
    }
  });
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kProducers; ++i) threads.emplace_back([&, i] { produce(i, false); });
  LaunchEntry entry;
  for (uint64_t now_ns = 1; running_.load() != 0; now_ns += kRingStallNs)
    for (int i = 0; i < 512 && reader_.pop(entry, now_ns); ++i) {
    }
  stop.store(true);
  forger.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(reader_.resyncs(), kRingMaxResyncs);
}

}  // namespace
}  // namespace gacer::shm
