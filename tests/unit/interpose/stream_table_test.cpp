// SPDX-License-Identifier: Apache-2.0
#include "interpose/stream_table.h"

#include <gtest/gtest.h>

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

TEST_F(StreamTableTest, given_64_streams_when_one_more_comes_then_it_has_no_slot) {
  for (uint64_t key = 1; key <= abi::kStreamSlots; ++key)
    EXPECT_NE(add(key << 12), StreamTable::kNone);
  EXPECT_EQ(add(0xabc000), StreamTable::kNone);
  table().drop(7 << 12);
  EXPECT_NE(add(0xabc000), StreamTable::kNone);
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
