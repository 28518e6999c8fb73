// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/regulator/harness.h"

namespace gacer::regulator::test {
namespace {

TEST(Passthrough, EverybodyIsUngatedWithFewMarksAndNoRecords) {
  Harness h("passthrough");
  const ProcessId lat = h.latency("web"), bat = h.batch("train");
  h.submit(lat, 50 * kUs);
  h.submit(bat, 50 * kUs);
  h.step(100 * kUs);
  for (const ProcessId process : {lat, bat}) {
    EXPECT_EQ(h.gate(process).mode, GateMode::kUngated);
    EXPECT_EQ(h.gate(process).mark_every, 64u);
    EXPECT_EQ(h.gate(process).stream_priority_rank, 0);
    EXPECT_FALSE(h.gate(process).record);
  }
}

TEST(Passthrough, RecordsWhenTheKnobAsksForThem) {
  Harness h("passthrough");
  const ProcessId bat = h.batch("train");
  ASSERT_TRUE(h.core->tune("record_passthrough", "1"));
  h.step(100 * kUs);
  EXPECT_TRUE(h.gate(bat).record);
}

TEST(Passthrough, ASwitchOfPolicyReachesTenantsAtTheNextDecision) {
  Harness h("passthrough");
  const ProcessId lat = h.latency("web"), bat = h.batch("train");
  h.step(0);
  h.submit(lat, 50 * kUs);
  h.submit(bat, 50 * kUs);
  h.step(100 * kUs);
  ASSERT_TRUE(h.core->set_policy("priority"));
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kClosed);
  ASSERT_TRUE(h.core->set_policy("passthrough"));
  h.step(100 * kUs);
  EXPECT_EQ(h.gate(bat).mode, GateMode::kUngated);
  EXPECT_EQ(h.gate(bat).reason, HoldReason::kNone);
}

}  // namespace
}  // namespace gacer::regulator::test
