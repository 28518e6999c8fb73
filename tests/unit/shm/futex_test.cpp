// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/futex.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "runtime/base/clock.h"

namespace gacer::shm {
namespace {

constexpr uint64_t kLongNs = 30'000'000'000;

TEST(Futex, DoesNotSleepWhenTheWordHasChanged) {
  const std::atomic<uint32_t> word{2};
  EXPECT_EQ(futex_wait_for(word, 1, kLongNs), WaitResult::kValueChanged);
}

TEST(Futex, ReturnsAtItsDeadline) {
  const std::atomic<uint32_t> word{1};
  const uint64_t deadline_ns = monotonic_now_ns() + 5'000'000;
  EXPECT_EQ(futex_wait_until(word, 1, deadline_ns), WaitResult::kTimedOut);
  EXPECT_GE(monotonic_now_ns(), deadline_ns);
}

TEST(Futex, LeavesErrnoAlone) {
  const std::atomic<uint32_t> word{1};
  errno = 1234;
  futex_wait_for(word, 1, 1000);
  futex_wait_for(word, 2, 1000);
  EXPECT_EQ(errno, 1234);
}

TEST(Futex, AWakeEndsTheWaitOfASleeper) {
  std::atomic<uint32_t> word{0};
  std::atomic<uint32_t> waiting{0};
  std::thread sleeper([&] {
    waiting.store(1);
    while (word.load() == 0) futex_wait_for(word, 0, kLongNs);
  });
  while (waiting.load() == 0) std::this_thread::yield();
  word.store(1);
  futex_wake_all(word);
  sleeper.join();
  EXPECT_EQ(futex_wake_all(word), 0);
}

}  // namespace
}  // namespace gacer::shm
