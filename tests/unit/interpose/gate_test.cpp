// SPDX-License-Identifier: Apache-2.0
#include "interpose/gate.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace gacer::interpose {
namespace {

using abi::GateMode;
using abi::Reason;

// A virtual clock: looking at it costs 1 us, sleeping moves it to the end of the sleep unless the
// test's `while_asleep` changes the words, which counts as a wake-up.
class ManualEnvironment final : public GateEnvironment {
 public:
  uint64_t now_ns() override { return time_ns += 1'000; }
  bool daemon_gone() override { return gone; }
  void poll_completions() override { ++polls; }
  void sleep(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t until_ns) override {
    ++sleeps;
    last_sleep_ns = until_ns - time_ns;
    waiting_seen = segment->progress.waiting_threads.load();
    if (while_asleep) while_asleep();
    time_ns = word.load() != expected ? time_ns + 500 : until_ns;
  }

  abi::Segment* segment = nullptr;
  std::function<void()> while_asleep;
  bool gone = false;
  uint64_t time_ns = 5'000'000'000;
  uint64_t last_sleep_ns = 0;
  uint32_t waiting_seen = 0;
  int sleeps = 0;
  int polls = 0;
};

class GateTest : public testing::Test {
 protected:
  GateTest() : gate_(*segment_, used_, reserved_) {
    environment_.segment = segment_.get();
    words().max_wait_ns = 50'000'000;
  }
  abi::GateWords& words() { return segment_->gate; }
  abi::ProgressWords& progress() { return segment_->progress; }
  void set_mode(GateMode mode, uint64_t window_ns = 0) {
    words().mode = static_cast<uint32_t>(mode);
    words().window_ns = window_ns;
    words().gate_seq.fetch_add(1);
  }
  void in_flight(int slot, uint64_t submitted, uint64_t completed) {
    used_ |= 1ULL << slot;
    segment_->streams[slot].submitted_cost_ns = submitted;
    segment_->streams[slot].completed_cost_ns = completed;
  }
  Passage pass(uint64_t cost_ns) { return gate_.pass(cost_ns, environment_); }

  std::unique_ptr<abi::Segment> segment_ = std::make_unique<abi::Segment>();
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> reserved_{0};
  Gate gate_;
  ManualEnvironment environment_;
};

TEST_F(GateTest, given_ungated_when_passing_then_no_wait_and_no_reservation) {
  set_mode(GateMode::kUngated);
  in_flight(0, 1'000'000'000, 0);
  const Passage passage = pass(5'000);
  EXPECT_EQ(passage.wait_ns, 0u);
  EXPECT_EQ(passage.reason, Reason::kNone);
  EXPECT_FALSE(passage.reserved);
  EXPECT_EQ(progress().waits, 0u);
}

TEST_F(GateTest, given_an_unknown_mode_when_passing_then_it_goes) {
  words().mode = 77;
  EXPECT_EQ(pass(5'000).reason, Reason::kNone);
}

TEST_F(GateTest, given_several_streams_then_in_flight_is_the_sum_over_used_slots_only) {
  in_flight(0, 100, 40);
  in_flight(5, 1'000, 1'000);
  in_flight(63, 7, 2);
  segment_->streams[9].submitted_cost_ns = 999;  // not in use
  EXPECT_EQ(gate_.in_flight_ns(), 65u);
}

TEST_F(GateTest, given_a_completed_word_beyond_submitted_then_it_counts_as_nothing_in_flight) {
  in_flight(0, 100, 5'000);
  in_flight(1, 100, 90);
  EXPECT_EQ(gate_.in_flight_ns(), 10u);
}

TEST_F(GateTest, given_a_window_with_room_when_passing_then_the_cost_is_reserved_until_given_back) {
  set_mode(GateMode::kWindow, 10'000);
  in_flight(0, 9'000, 4'000);
  const Passage passage = pass(5'000);  // 5'000 + 5'000 <= 10'000
  EXPECT_EQ(passage.wait_ns, 0u);
  EXPECT_TRUE(passage.reserved);
  EXPECT_EQ(reserved_, 5'000u);
  Gate::give_back(reserved_, passage.reserved, 5'000);
  EXPECT_EQ(reserved_, 0u);
}

TEST_F(GateTest, given_nothing_in_flight_when_the_cost_exceeds_the_window_then_it_runs_alone) {
  set_mode(GateMode::kWindow, 1'000);
  EXPECT_EQ(pass(1'000'000).wait_ns, 0u);
}

TEST_F(GateTest, given_a_reservation_of_another_thread_when_the_window_is_full_then_it_waits) {
  set_mode(GateMode::kWindow, 10'000);
  reserved_ = 8'000;
  environment_.while_asleep = [&] { reserved_ = 0; };
  const Passage passage = pass(5'000);
  EXPECT_GT(passage.wait_ns, 0u);
  EXPECT_EQ(passage.reason, Reason::kWindowFull);
}

TEST_F(GateTest, given_a_full_window_when_work_completes_during_the_spin_then_no_sleep) {
  set_mode(GateMode::kWindow, 10'000);
  in_flight(0, 10'000, 0);
  // The GPU writes without telling anyone: the clock look-up stands for time passing.
  class Completing final : public GateEnvironment {
   public:
    explicit Completing(abi::Segment& words) : segment(words) {}
    uint64_t now_ns() override {
      if (++looks == 5) segment.streams[0].completed_cost_ns = 10'000;
      return looks * 1'000u;
    }
    bool daemon_gone() override { return false; }
    void poll_completions() override {}
    void sleep(const std::atomic<uint32_t>&, uint32_t, uint64_t) override { ++sleeps; }
    abi::Segment& segment;
    uint64_t looks = 0;
    int sleeps = 0;
  } completing(*segment_);
  const Passage passage = gate_.pass(5'000, completing);
  EXPECT_EQ(completing.sleeps, 0);
  EXPECT_LT(passage.wait_ns, kSpinNs);
  EXPECT_EQ(progress().waits, 1u);
}

TEST_F(GateTest, given_a_full_window_when_asleep_then_it_looks_again_soon_and_polls_events) {
  set_mode(GateMode::kWindow, 10'000);
  in_flight(0, 10'000, 0);
  environment_.while_asleep = [&] {
    if (environment_.sleeps == 3) segment_->streams[0].completed_cost_ns = 10'000;
  };
  pass(5'000);
  EXPECT_EQ(environment_.sleeps, 3);
  EXPECT_EQ(environment_.polls, 3);
  EXPECT_LE(environment_.last_sleep_ns, kWindowSleepNs);
}

TEST_F(GateTest, given_a_closed_gate_when_it_opens_then_the_wait_ends_and_has_the_daemons_reason) {
  set_mode(GateMode::kClosed);
  words().reason = static_cast<uint32_t>(Reason::kNotMyQuantum);
  environment_.while_asleep = [&] { set_mode(GateMode::kUngated); };
  const Passage passage = pass(5'000);
  EXPECT_EQ(passage.reason, Reason::kNotMyQuantum);
  EXPECT_EQ(environment_.sleeps, 1);
  EXPECT_EQ(environment_.waiting_seen, 1u);
  EXPECT_EQ(progress().waiting_threads, 0u);
  EXPECT_EQ(progress().waits, 1u);
  EXPECT_EQ(progress().wait_ns, passage.wait_ns);
  EXPECT_EQ(progress().wait_ns_by_reason[static_cast<int>(Reason::kNotMyQuantum)], passage.wait_ns);
}

TEST_F(GateTest, given_a_wild_reason_number_when_held_then_a_known_one_is_used) {
  set_mode(GateMode::kClosed);
  words().reason = 4'000'000'000u;
  environment_.while_asleep = [&] { set_mode(GateMode::kUngated); };
  EXPECT_EQ(pass(5'000).reason, Reason::kLatencyActive);
}

TEST_F(GateTest, given_a_gate_that_stays_closed_when_the_bound_passes_then_it_goes_and_is_counted) {
  set_mode(GateMode::kClosed);
  const Passage passage = pass(5'000);
  EXPECT_EQ(passage.reason, Reason::kDeadline);
  EXPECT_GE(passage.wait_ns, 50'000'000u);
  EXPECT_LT(passage.wait_ns, 60'000'000u);
  EXPECT_EQ(progress().deadline_releases, 1u);
  EXPECT_EQ(progress().wait_ns_by_reason[static_cast<int>(Reason::kLatencyActive)],
            passage.wait_ns);
}

TEST_F(GateTest, given_an_absurd_bound_when_held_then_ten_seconds_are_the_most) {
  set_mode(GateMode::kClosed);
  words().max_wait_ns = UINT64_MAX;
  const Passage passage = pass(5'000);
  EXPECT_EQ(passage.reason, Reason::kDeadline);
  EXPECT_LT(passage.wait_ns, kLongestWaitNs + 1'000'000);
}

TEST_F(GateTest, given_a_bound_of_zero_when_closed_then_it_goes_at_once) {
  set_mode(GateMode::kClosed);
  words().max_wait_ns = 0;
  EXPECT_EQ(pass(5'000).reason, Reason::kDeadline);
  EXPECT_EQ(environment_.sleeps, 0);
}

TEST_F(GateTest, given_a_dead_daemon_when_held_then_it_goes_after_the_spin) {
  set_mode(GateMode::kClosed);
  environment_.gone = true;
  const Passage passage = pass(5'000);
  EXPECT_EQ(passage.reason, Reason::kDaemonGone);
  EXPECT_LT(passage.wait_ns, kSpinNs + 10'000);
  EXPECT_EQ(progress().deadline_releases, 0u);
}

TEST_F(GateTest, given_a_deadline_release_under_a_window_then_nothing_stays_reserved) {
  set_mode(GateMode::kWindow, 1'000);
  in_flight(0, 10'000, 0);
  const Passage passage = pass(5'000);
  EXPECT_EQ(passage.reason, Reason::kDeadline);
  Gate::give_back(reserved_, passage.reserved, 5'000);
  EXPECT_EQ(reserved_, 0u);
}

}  // namespace
}  // namespace gacer::interpose
