// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/group_fit.h"

#include <gtest/gtest.h>

namespace gacer::regulator {
namespace {

GroupTimes group(std::vector<double> durations, double since, double until, bool each_end_seen) {
  GroupTimes times;
  for (const double duration : durations) times.launches.push_back({0, duration});
  times.since_ns = since;
  times.until_ns = until;
  times.each_end_seen = each_end_seen;
  return times;
}

TEST(GroupFit, APredictionBetweenThePollsTeachesNothing) {
  const GroupFit fit = fit_group(group({500, 20}, 450, 550, true));
  EXPECT_DOUBLE_EQ(fit.first_ratio, 1);
  EXPECT_DOUBLE_EQ(fit.rest_ratio, 1);
  EXPECT_DOUBLE_EQ(fit.end_ns, 520);
}

TEST(GroupFit, AFirstLaunchThatEndsTooEarlyIsStretchedToTheLastPoll) {
  const GroupFit fit = fit_group(group({100, 20}, 200, 300, true));
  EXPECT_DOUBLE_EQ(fit.first_ratio, 2);
  EXPECT_DOUBLE_EQ(fit.rest_ratio, 1);
  EXPECT_DOUBLE_EQ(fit.end_ns, 220);
}

TEST(GroupFit, AnOvershootIsSharedByTheFirstAndTheRest) {
  const GroupFit fit = fit_group(group({100, 40}, 20, 120, true));
  EXPECT_DOUBLE_EQ(fit.first_ratio, 0.9);
  EXPECT_DOUBLE_EQ(fit.rest_ratio, 0.75);
  EXPECT_DOUBLE_EQ(fit.end_ns, 120);
}

TEST(GroupFit, TheFirstIsNotShrunkBelowTheLastPoll) {
  const GroupFit fit = fit_group(group({100, 40}, 98, 120, true));
  EXPECT_DOUBLE_EQ(fit.first_ratio, 0.98);
  EXPECT_DOUBLE_EQ(fit.rest_ratio, 22.0 / 40);
}

TEST(GroupFit, WithFewMarksTheWholeGroupIsScaled) {
  const GroupFit longer = fit_group(group({100, 100}, 300, 400, false));
  EXPECT_DOUBLE_EQ(longer.first_ratio, 1.5);
  EXPECT_DOUBLE_EQ(longer.rest_ratio, 1.5);
  const GroupFit shorter = fit_group(group({100, 100}, 50, 100, false));
  EXPECT_DOUBLE_EQ(shorter.first_ratio, 0.5);
  EXPECT_DOUBLE_EQ(shorter.rest_ratio, 0.5);
}

TEST(GroupFit, ALaunchStartsWhenItWasSubmittedAtTheEarliest) {
  GroupTimes times = group({100, 100}, 300, 400, true);
  times.launches[0].submit_ns = 50;
  times.launches[1].submit_ns = 300;
  times.since_ns = 100;
  const GroupFit fit = fit_group(times);
  EXPECT_DOUBLE_EQ(fit.start_ns, 50);
  EXPECT_DOUBLE_EQ(fit.end_ns, 400) << "the idle time between is no one's duration";
  EXPECT_DOUBLE_EQ(fit.first_ratio, 1);
  EXPECT_DOUBLE_EQ(fit.rest_ratio, 1);
}

}  // namespace
}  // namespace gacer::regulator
