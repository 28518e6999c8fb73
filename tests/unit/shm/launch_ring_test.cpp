// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/launch_ring.h"

#include <gtest/gtest.h>

#include <memory>

namespace gacer::shm {
namespace {

using abi::kRingSlots;

LaunchEntry numbered(uint64_t number) {
  LaunchEntry entry;
  entry.submit_ns = number;
  entry.kernel_id = ~number;
  entry.cost_slot = static_cast<uint32_t>(number);
  entry.block_threads = 256;
  entry.kind = 1;
  entry.flags = static_cast<uint8_t>(number);
  return entry;
}

class LaunchRing : public testing::Test {
 protected:
  void SetUp() override { format_ring(segment()); }

  abi::Segment& segment() { return *segment_; }
  bool push(uint64_t number) { return push_launch(segment(), numbered(number)); }
  // Takes a ticket and never publishes it: a thread killed in the middle of a push.
  uint64_t claim_and_die() { return segment().ring_control.tail.fetch_add(1); }
  // Numbers that come out until the ring says it is empty.
  std::vector<uint64_t> pop_all(uint64_t now_ns = 1) {
    std::vector<uint64_t> numbers;
    LaunchEntry entry;
    for (uint32_t i = 0; i < 4 * kRingSlots && reader_.pop(entry, now_ns); ++i)
      numbers.push_back(entry.submit_ns);
    return numbers;
  }

  std::unique_ptr<abi::Segment> segment_ = std::make_unique<abi::Segment>();
  LaunchRingReader reader_{*segment_};
};

TEST_F(LaunchRing, GivesBackEveryFieldInOrder) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(push(i));
  LaunchEntry entry;
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(reader_.pop(entry, 1));
    EXPECT_EQ(entry, numbered(i));
  }
  EXPECT_FALSE(reader_.pop(entry, 1));
}

TEST_F(LaunchRing, RefusesWhenFullAndGoesOnAfterARead) {
  for (uint64_t i = 0; i < kRingSlots; ++i) ASSERT_TRUE(push(i));
  EXPECT_FALSE(push(99));
  LaunchEntry entry;
  ASSERT_TRUE(reader_.pop(entry, 1));
  EXPECT_TRUE(push(kRingSlots));
  EXPECT_FALSE(push(99));
  EXPECT_EQ(pop_all().size(), kRingSlots);
}

TEST_F(LaunchRing, WrapsManyTimes) {
  for (uint64_t i = 0; i < 5 * kRingSlots; ++i) {
    ASSERT_TRUE(push(i));
    EXPECT_EQ(pop_all(), std::vector<uint64_t>{i});
  }
}

TEST_F(LaunchRing, SkipsATicketThatIsNeverPublished) {
  claim_and_die();
  ASSERT_TRUE(push(1));
  EXPECT_TRUE(pop_all(1).empty());
  EXPECT_TRUE(pop_all(kRingStallNs).empty());
  EXPECT_EQ(pop_all(kRingStallNs + 1), std::vector<uint64_t>{1});
  EXPECT_EQ(reader_.skipped(), 1u);
}

TEST_F(LaunchRing, ASlowPublicationInsideTheBoundIsNotLost) {
  const uint64_t ticket = claim_and_die();
  EXPECT_TRUE(pop_all(1).empty());
  segment().ring[ticket].submit_ns = 42;
  segment().ring[ticket].sequence.store(ticket + 1);
  EXPECT_EQ(pop_all(kRingStallNs), std::vector<uint64_t>{42});
  EXPECT_EQ(reader_.skipped(), 0u);
}

TEST_F(LaunchRing, ALatePublicationOfASkippedTicketDoesNotBlockTheSlot) {
  const uint64_t ticket = claim_and_die();
  pop_all(1);
  pop_all(1 + kRingStallNs);
  ASSERT_EQ(reader_.skipped(), 1u);
  segment().ring[ticket].sequence.store(ticket + 1);  // the slow thread wakes up now
  uint64_t lost = 0;
  for (uint64_t i = 0; i < 3 * kRingSlots; ++i) {
    if (!push(i)) ++lost;
    pop_all(2 + kRingStallNs);
  }
  EXPECT_LE(lost, 1u);
  EXPECT_EQ(reader_.skipped(), 1u);
}

TEST_F(LaunchRing, ALatePublicationOverARecordCostsOnlyThatRecord) {
  const uint64_t ticket = claim_and_die();
  pop_all(1);
  pop_all(1 + kRingStallNs);
  for (uint64_t i = 0; i < kRingSlots; ++i) ASSERT_TRUE(push(i));  // the last one reuses the slot
  segment().ring[ticket].sequence.store(ticket + 1);
  EXPECT_EQ(pop_all(3 + kRingStallNs).size(), kRingSlots - 1);
  ASSERT_TRUE(push(7));
  EXPECT_EQ(pop_all(4 + kRingStallNs), std::vector<uint64_t>{7});
}

TEST_F(LaunchRing, AForgedTailCannotMakeTheReaderLoop) {
  ASSERT_TRUE(push(1));
  for (const uint64_t tail : {UINT64_MAX, uint64_t{1} << 40, uint64_t{kRingSlots} + 2}) {
    segment().ring_control.tail.store(tail);
    pop_all();
    EXPECT_TRUE(push(5)) << tail;  // started over at the forged tail: an honest thread goes on
    EXPECT_EQ(pop_all(), std::vector<uint64_t>{5}) << tail;
  }
  EXPECT_EQ(reader_.resyncs(), 3u);
}

TEST_F(LaunchRing, StopsReadingATenantThatForgesAgainAndAgain) {
  for (uint64_t i = 1; i <= 2 * kRingMaxResyncs; ++i) {
    segment().ring_control.tail.store(i << 32);
    pop_all();
  }
  EXPECT_TRUE(reader_.closed());
  EXPECT_EQ(reader_.resyncs(), kRingMaxResyncs);
}

TEST_F(LaunchRing, ForgedSequencesAreSkippedNotTrusted) {
  for (uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(push(i));
  for (uint64_t i = 0; i < 8; i += 2) segment().ring[i].sequence.store(UINT64_MAX - i);
  EXPECT_EQ(pop_all(), (std::vector<uint64_t>{1, 3, 5, 7}));
  EXPECT_EQ(reader_.skipped(), 4u);
}

TEST_F(LaunchRing, SequencesForgedAsFilledDoNotComeOutForEver) {
  // Every slot claims to be filled for ever; each pop gives one record and the drain bound is the
  // caller's.
  for (auto& record : segment().ring) record.sequence.store(1);
  LaunchEntry entry;
  EXPECT_TRUE(reader_.pop(entry, 1));
  EXPECT_FALSE(reader_.pop(entry, 1));
}

TEST_F(LaunchRing, PushGivesUpOnForgedSequences) {
  for (auto& record : segment().ring) record.sequence.store(UINT64_MAX / 2);
  EXPECT_FALSE(push(1));
}

}  // namespace
}  // namespace gacer::shm
