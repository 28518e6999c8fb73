// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/regulator/harness.h"

namespace gacer::regulator::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<uint64_t> attach(Regulator& core, ProcessId process, const std::string& name, uint32_t uid) {
  TenantConfig config;
  config.name = name;
  config.uid = uid;
  return core.attach(process, config, {}, 1);
}

TEST(Attach, EqualNameAndUserAreOneTenant) {
  const auto core = Regulator::create();
  const uint64_t id = attach(*core, 1, "train", 1000).value();
  EXPECT_EQ(attach(*core, 2, "train", 1000).value(), id);
  EXPECT_NE(attach(*core, 3, "train", 1001).value(), id);
  EXPECT_NE(attach(*core, 4, "other", 1000).value(), id);
}

TEST(Attach, AUsedProcessNumberIsRefused) {
  const auto core = Regulator::create();
  ASSERT_TRUE(attach(*core, 1, "train", 1000));
  const auto again = attach(*core, 1, "train", 1000);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("process number 1 is attached already"));
}

TEST(Attach, AWeightOutOfRangeIsRefused) {
  const auto core = Regulator::create();
  TenantConfig config;
  config.name = "train";
  config.weight = 0;
  const auto result = core->attach(1, config, {}, 1);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("weight 0 is outside 1..1000"));
  EXPECT_THAT(core->snapshot().tenants, IsEmpty());
}

TEST(Attach, TheFirstDecisionIsAlwaysGivenLaterOnesOnlyOnChange) {
  Harness h;
  const ProcessId a = h.batch("a");
  EXPECT_THAT(h.step(0), ElementsAre(a));
  EXPECT_THAT(h.step(100 * kUs), IsEmpty());
  const ProcessId b = h.batch("a");
  EXPECT_THAT(h.step(100 * kUs), ElementsAre(b));
}

TEST(Attach, ATenantEndsWithItsLastProcess) {
  Harness h;
  const ProcessId a = h.batch("train"), b = h.batch("train");
  h.detach(a);
  EXPECT_EQ(h.core->snapshot().tenants.size(), 1u);
  h.detach(b);
  EXPECT_THAT(h.core->snapshot().tenants, IsEmpty());
  h.core->detach(b, h.now_ns);  // twice is harmless
}

TEST(Attach, CountersOfDepartedProcessesStayWithTheTenant) {
  Harness h;
  const ProcessId a = h.batch("train");
  h.batch("train");
  ProgressEvent progress;
  progress.launches = 7;
  progress.deadline_releases = 2;
  h.core->on_progress(a, progress, h.now_ns);
  h.detach(a);
  EXPECT_EQ(h.tenant("train").launches, 7u);
  EXPECT_EQ(h.tenant("train").deadline_releases, 2u);
}

TEST(Attach, EventsOfUnknownProcessesAreIgnored) {
  Harness h;
  h.core->on_launch(99, {});
  h.core->on_progress(99, {}, h.now_ns);
  EXPECT_THAT(h.step(0), IsEmpty());
}

TEST(Snapshot, TellsWorkAndBusyTime) {
  Harness h;
  const ProcessId lat = h.latency("web");
  h.batch("train");
  h.step(100 * kUs);
  h.submit(lat, 30 * kUs);
  h.run(5 * kMs);
  EXPECT_TRUE(h.core->snapshot().latency_active);
  EXPECT_EQ(h.tenant("web").in_flight_ns, 30 * kUs);
  EXPECT_EQ(h.tenant("web").busy_ns, 5 * kMs);
  h.complete_all(lat);
  h.run(5 * kMs);
  EXPECT_EQ(h.tenant("web").completed_cost_ns, 30 * kUs);
  EXPECT_EQ(h.tenant("web").busy_ns, 5 * kMs + 100 * kUs);
  EXPECT_FALSE(h.tenant("web").active);
}

TEST(Snapshot, AStepBackOfTheClockIsNoTime) {
  Harness h;
  h.batch("train");
  h.step(100 * kUs);
  std::vector<ProcessDecision> gates;
  std::vector<KernelCost> costs;
  h.core->decide(5, gates, costs);
  EXPECT_THAT(gates, IsEmpty());
  EXPECT_GE(h.core->next_wakeup_ns(5), h.now_ns);
}

}  // namespace
}  // namespace gacer::regulator::test
