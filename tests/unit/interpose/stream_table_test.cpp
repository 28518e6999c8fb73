// SPDX-License-Identifier: Apache-2.0
#include "interpose/stream_table.h"

#include <gtest/gtest.h>

#include <bit>
#include <thread>

#include "tests/unit/interpose/fake_driver.h"

namespace gacer::interpose {
namespace {

class StreamTableTest : public testing::Test {
 protected:
  void SetUp() override { test::reset_shim(); }
  StreamTable& table() { return attachment_.streams; }
  int add(uint64_t key) { return table().find_or_add(key, {}, nullptr); }

  Attachment& attachment_ = (test::reset_shim(), test::attach_fake());
};

TEST_F(StreamTableTest, given_a_stream_when_added_twice_then_one_slot_in_use) {
  const int slot = add(0x5000);
  EXPECT_EQ(add(0x5000), slot);
  EXPECT_EQ(table().used(), 1u);
  EXPECT_EQ(attachment_.segment.streams[slot].in_use, 1u);
  EXPECT_EQ(attachment_.segment.progress.live_streams, 1u);
}

TEST_F(StreamTableTest, given_all_slots_busy_when_one_more_comes_then_it_shares_the_last_slot) {
  for (uint64_t key = 1; key < abi::kStreamSlots; ++key)
    table().slot(add(key << 12)).submitted_cost_ns += 5;
  EXPECT_EQ(add(0xabc000), StreamTable::kSharedSlot);
  EXPECT_EQ(add(0xabd000), StreamTable::kSharedSlot);
  EXPECT_EQ(add(0xabc000), StreamTable::kSharedSlot);
  EXPECT_EQ(attachment_.segment.progress.live_streams, abi::kStreamSlots);
  table().drop(7 << 12);
  EXPECT_NE(add(0xabc000), StreamTable::kSharedSlot);  // moves as soon as it can
  EXPECT_EQ(table().find(0xabd000), StreamTable::kSharedSlot);
  table().drop(0xabd000);
  EXPECT_FALSE(table().sharing());
}

TEST_F(StreamTableTest, given_all_slots_taken_when_one_more_comes_then_an_idle_one_is_taken_back) {
  for (uint64_t key = 1; key < abi::kStreamSlots; ++key)
    table().slot(add(key << 12)).submitted_cost_ns += 5;
  const int idle = table().find(9 << 12);
  table().slot(idle).completed_cost_ns = table().slot(idle).submitted_cost_ns.load();
  EXPECT_EQ(add(0xabc000), idle);
  EXPECT_EQ(table().find(9 << 12), StreamTable::kNone);
  EXPECT_FALSE(table().is_owner(static_cast<uint32_t>(idle), 9 << 12));
  EXPECT_TRUE(table().is_owner(static_cast<uint32_t>(idle), 0xabc000));
}

TEST_F(StreamTableTest,
       STR_09_given_10000_creations_with_reused_handles_then_no_slot_leaks_or_has_a_wrong_owner) {
  const int kept = add(0x999000);
  for (uint64_t i = 0; i < 10'000; ++i) {
    const uint64_t key = 0x5000 + (i % 7) * 0x1000;  // the allocator gives the same few handles
    const int slot = add(key);
    ASSERT_NE(slot, StreamTable::kNone);
    ASSERT_NE(slot, kept);
    ASSERT_TRUE(table().is_owner(static_cast<uint32_t>(slot), key));
    ASSERT_EQ(std::popcount(table().used()), 2);
    table().slot(slot).submitted_cost_ns += 10;  // one in three dies with its last mark under way
    if (i % 3 != 0)
      table().slot(slot).completed_cost_ns = table().slot(slot).submitted_cost_ns.load();
    table().drop(key);
    ASSERT_FALSE(table().is_owner(static_cast<uint32_t>(slot), key));
    ASSERT_EQ(table().find(key), StreamTable::kNone);
    table().slot(slot).completed_cost_ns = table().slot(slot).submitted_cost_ns.load();
  }
  EXPECT_EQ(table().find(0x999000), kept);
  EXPECT_EQ(attachment_.segment.progress.live_streams, 1u);
}

TEST_F(StreamTableTest,
       given_threads_that_have_ended_then_their_default_streams_give_their_slots_back) {
  for (int i = 0; i < 300; ++i) {
    std::thread([&] {
      const StreamRef mine{nullptr, true};
      const int slot = table().find_or_add(stream_key(mine), mine, nullptr);
      ASSERT_NE(slot, StreamTable::kNone);
      ASSERT_NE(slot, StreamTable::kSharedSlot);
      table().slot(slot).submitted_cost_ns += 10;  // never marked: the thread ends without waiting
    }).join();
  }
  table().free_ended_threads();
  EXPECT_EQ(table().used(), 0u);
  for (const abi::StreamSlot& slot : attachment_.segment.streams)
    EXPECT_EQ(slot.submitted_cost_ns, slot.completed_cost_ns);
}

TEST_F(StreamTableTest, given_a_living_threads_default_stream_then_it_keeps_its_slot) {
  const StreamRef mine{nullptr, true};
  const int slot = table().find_or_add(stream_key(mine), mine, nullptr);
  table().slot(slot).submitted_cost_ns += 10;
  table().free_ended_threads();
  EXPECT_EQ(table().find(stream_key(mine)), slot);
}

TEST_F(StreamTableTest, given_a_dropped_stream_when_its_handle_comes_again_then_counters_go_on) {
  const int slot = add(0x5000);
  table().slot(slot).submitted_cost_ns = 100;
  table().slot(slot).completed_cost_ns = 100;
  table().drop(0x5000);
  EXPECT_EQ(attachment_.segment.streams[slot].in_use, 0u);
  const int again = add(0x5000);
  EXPECT_EQ(again, slot);
  EXPECT_EQ(table().slot(again).submitted_cost_ns, 100u);
}

TEST_F(StreamTableTest,
       given_a_free_slot_with_a_late_write_when_adding_then_an_idle_one_is_preferred) {
  const int slot = add(0x5000);
  table().slot(slot).submitted_cost_ns = 100;  // its last mark has not arrived
  table().drop(0x5000);
  EXPECT_NE(add(0x6000), slot);
}

TEST_F(StreamTableTest, given_thousands_of_short_lived_streams_then_lookups_still_work) {
  const int kept = add(0x999000);
  for (uint64_t i = 1; i < 20'000; ++i) {
    ASSERT_NE(add(i << 13), StreamTable::kNone);
    table().drop(i << 13);
  }
  EXPECT_EQ(table().find(0x999000), kept);
  EXPECT_EQ(attachment_.segment.progress.live_streams, 1u);
}

TEST_F(StreamTableTest, given_default_streams_then_keys_follow_context_and_thread) {
  const uint64_t legacy = stream_key({nullptr, false});
  EXPECT_EQ(stream_key({CU_STREAM_LEGACY, true}), legacy);
  const uint64_t mine = stream_key({nullptr, true});
  EXPECT_NE(mine, legacy);
  EXPECT_EQ(stream_key({CU_STREAM_PER_THREAD, false}), mine);
  uint64_t theirs = 0;
  std::thread([&] { theirs = stream_key({nullptr, true}); }).join();
  EXPECT_NE(theirs, mine);
  test::fake().context = reinterpret_cast<CUcontext>(uintptr_t{0xdddd});
  EXPECT_NE(stream_key({nullptr, false}), legacy);
}

TEST_F(StreamTableTest, given_no_context_then_a_default_stream_has_no_key_and_no_slot) {
  test::fake().context = nullptr;
  EXPECT_EQ(stream_key({nullptr, false}), 0u);
  EXPECT_EQ(add(0), StreamTable::kNone);
}

}  // namespace
}  // namespace gacer::interpose
