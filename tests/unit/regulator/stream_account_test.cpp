// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/stream_account.h"

#include <gtest/gtest.h>

namespace gacer::regulator {
namespace {

using Change = StreamAccount::Change;

TEST(StreamAccount, InFlightIsSubmittedMinusCompleted) {
  StreamAccount stream;
  EXPECT_EQ(stream.progressed(100, 40, true, 1), Change::kMoved);
  EXPECT_EQ(stream.in_flight_ns(), 60u);
  EXPECT_EQ(stream.progressed(100, 40, true, 2), Change::kNone);
}

TEST(StreamAccount, WithoutMarksNothingIsInFlight) {
  StreamAccount stream;
  stream.progressed(100, 0, false, 1);
  EXPECT_EQ(stream.in_flight_ns(), 0u);
  stream.progressed(150, 0, true, 2);
  EXPECT_EQ(stream.in_flight_ns(), 50u) << "only what came since marks are on";
}

TEST(StreamAccount, ARecordCountsUntilTheCountersAreRead) {
  StreamAccount stream;
  stream.launched(70);
  EXPECT_EQ(stream.in_flight_ns(), 70u);
  stream.progressed(50, 0, true, 1);
  EXPECT_EQ(stream.in_flight_ns(), 50u);
}

TEST(StreamAccount, BothCountersStepBackWhenTheSlotHasANewStream) {
  StreamAccount stream;
  stream.progressed(1000, 900, true, 1);
  EXPECT_EQ(stream.progressed(30, 10, true, 2), Change::kRestarted);
  EXPECT_EQ(stream.in_flight_ns(), 20u);
}

TEST(StreamAccount, CompletedNeverStepsBackAlone) {
  StreamAccount stream;
  stream.progressed(1000, 900, true, 1);
  stream.progressed(1000, 100, true, 2);
  EXPECT_EQ(stream.in_flight_ns(), 100u);
}

TEST(StreamAccount, StandingStillWithWorkInFlightIsStaleOnce) {
  StreamAccount stream;
  stream.progressed(100, 0, true, 10);
  stream.take_moved();
  EXPECT_FALSE(stream.check_stale(510, 500));
  EXPECT_TRUE(stream.check_stale(511, 500));
  EXPECT_FALSE(stream.check_stale(600, 500));
  EXPECT_EQ(stream.in_flight_ns(), 0u);
  stream.progressed(120, 0, true, 700);
  EXPECT_EQ(stream.in_flight_ns(), 120u);
}

TEST(StreamAccount, AnIdleStreamIsNeverStale) {
  StreamAccount stream;
  stream.progressed(100, 100, true, 10);
  stream.take_moved();
  EXPECT_FALSE(stream.check_stale(1'000'000, 500));
}

}  // namespace
}  // namespace gacer::regulator
