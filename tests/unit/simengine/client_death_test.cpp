// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

TEST(ClientDeath, FreesTheSmsForTheOthers) {
  // Given a client that holds all SMs for a long time and one that waits.
  Harness h;
  const uint32_t dead = h.client(true);
  const OpId lost = h.kernel(h.stream(dead), 216, 1e9);
  h.advance_to(50'000);
  const OpId waiting = h.kernel(h.stream(h.client(true)), 216, 10'000);
  h.advance_to(100'000);
  ASSERT_FALSE(h.is_done(waiting));
  // When the first dies.
  h.engine.remove_client(dead, h.now_ns);
  ASSERT_TRUE(h.run_dry());
  // Then the other one starts at once and the lost operation never ends.
  EXPECT_TRUE(h.is_done(waiting));
  EXPECT_LT(h.end_of(waiting), 120'000U);
  EXPECT_FALSE(h.is_done(lost));
}

TEST(ClientDeath, InATimeSliceHandsTheDeviceOver) {
  Harness h;
  const uint32_t dead = h.client(false);
  h.kernel(h.stream(dead), 216, 1e9);
  const OpId waiting = h.kernel(h.stream(h.client(false)), 216, 10'000);
  h.advance_to(100'000);
  h.engine.remove_client(dead, h.now_ns);
  ASSERT_TRUE(h.run_dry());
  EXPECT_TRUE(h.is_done(waiting));
}

TEST(ClientDeath, DuringACopyFreesTheCopyEngine) {
  Harness h;
  const uint32_t dead = h.client(true);
  h.copy(h.stream(dead), OpKind::kCopyToDevice, 1ULL << 36);
  h.copy(h.stream(dead), OpKind::kMemset, 1ULL << 40);
  const OpId next = h.copy(h.stream(h.client(true)), OpKind::kCopyToDevice, 1000);
  h.advance_to(100'000);
  h.engine.remove_client(dead, h.now_ns);
  h.advance_to(200'000);
  EXPECT_TRUE(h.is_done(next));
}

TEST(ClientDeath, OfAnUnknownClientIsIgnored) {
  Harness h;
  h.engine.remove_client(17, h.now_ns);
  EXPECT_EQ(h.engine.next_event_ns(), kNever);
}

}  // namespace
}  // namespace gacer::simdevice::test
