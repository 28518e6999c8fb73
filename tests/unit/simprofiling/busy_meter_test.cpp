// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/busy_meter.h"

#include <gtest/gtest.h>

#include "runtime/simdevice/server/device_usage.h"
#include "runtime/simdevice/server/trace_ring.h"

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr double kStep = kSamplePeriodNs / 32.0;

TEST(BusyMeter, CountsOverlappingThingsOnce) {
  BusyMeter meter;
  meter.start(1000 * kMs);
  meter.start(1010 * kMs);
  meter.stop(1020 * kMs);
  meter.stop(1030 * kMs);
  EXPECT_NEAR(30.0 * kMs, static_cast<double>(meter.busy_ns(1040 * kMs)), kStep);
}

TEST(BusyMeter, ForgetsWhatLiesBeforeTheWindow) {
  BusyMeter meter;
  meter.start(1000 * kMs);
  meter.stop(1100 * kMs);
  EXPECT_NEAR(100.0 * kMs, static_cast<double>(meter.busy_ns(1101 * kMs)), kStep);
  EXPECT_EQ(0U, meter.busy_ns(2000 * kMs));
  EXPECT_EQ(kSamplePeriodNs, meter.window_ns());
}

TEST(BusyMeter, IsFullWhenSomethingRunsAllTheTime) {
  BusyMeter meter;
  meter.start(1000 * kMs);
  EXPECT_EQ(kSamplePeriodNs, meter.busy_ns(9000 * kMs));
}

TEST(BusyMeter, HalfTheTimeIsHalfTheWindowHoweverFineTheTurns) {
  BusyMeter meter;
  for (uint64_t at = 1'000'000'000; at < 2'000'000'000; at += 20'000) {
    meter.start(at);
    meter.stop(at + 10'000);
  }
  EXPECT_NEAR(0.5, static_cast<double>(meter.busy_ns(2'000'000'000)) / kSamplePeriodNs, 0.02);
}

TEST(DeviceUsage, TellsClientsApartAndForgetsThem) {
  DeviceUsage usage;
  int a = 0, b = 0;
  const auto* one = reinterpret_cast<const Client*>(&a);
  const auto* other = reinterpret_cast<const Client*>(&b);
  usage.kernel_started(one, 1000 * kMs);
  usage.kernel_started(other, 1000 * kMs);
  usage.kernel_ended(other, 1050 * kMs);
  EXPECT_NEAR(100.0 * kMs, static_cast<double>(usage.busy_ns(one, 1100 * kMs)), kStep);
  EXPECT_NEAR(50.0 * kMs, static_cast<double>(usage.busy_ns(other, 1100 * kMs)), kStep);
  usage.forget_client(one, 1100 * kMs);
  EXPECT_EQ(0U, usage.busy_ns(one, 1100 * kMs));
  EXPECT_EQ(0U, usage.busy_ns(3000 * kMs));  // what it ran ended with it
}

TEST(DeviceUsage, CountsOfALongOperationOnlyWhatLiesInTheWindow) {
  DeviceUsage usage;
  usage.memory_moved(0, 4 * kSamplePeriodNs, 4'000'000);
  EXPECT_NEAR(1e6, static_cast<double>(usage.memory_bytes(4 * kSamplePeriodNs)), 1);
}

TEST(TraceRing, LosesTheNewestWhenNobodyReads) {
  auto ring = TraceRing::create();
  ASSERT_TRUE(ring.ok());
  for (uint64_t i = 0; i < kTraceRecords + 5; ++i) ring->add({i, 0, 0, i, i + 1});
  EXPECT_GE(ring->fd(), 0);
  const TracePage* page = ring->page();
  EXPECT_EQ(kTraceRecords, page->written.load());
  EXPECT_EQ(5U, page->lost.load());
  EXPECT_EQ(kTraceRecords - 1, page->records[kTraceRecords - 1].seq);
}

}  // namespace
}  // namespace gacer::simdevice
