// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/engine/timing.h"
#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

TEST(StreamOrder, OneStreamRunsInOrderWithAGap) {
  Harness h;
  const uint32_t s = h.stream(h.client(true));
  const OpId a = h.kernel(s, 1, 20'000);
  const OpId b = h.kernel(s, 1, 20'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_EQ(h.start_of(a), 1000 + kLaunchLatencyNs);
  EXPECT_EQ(h.start_of(b), h.end_of(a) + kStreamGapNs);
}

TEST(StreamOrder, TwoStreamsOfOneClientOverlap) {
  Harness h;
  const uint32_t client = h.client(false);
  const OpId a = h.kernel(h.stream(client), 10, 50'000);
  const OpId b = h.kernel(h.stream(client), 10, 50'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_TRUE(overlap(h, a, b));
}

TEST(StreamOrder, AnEventHoldsAnotherStreamUntilItIsRecorded) {
  Harness h;
  const uint32_t client = h.client(true);
  const uint32_t first = h.stream(client);
  const uint32_t second = h.stream(client);
  h.kernel(first, 1, 70'000);
  const OpId record = h.instant(first);
  const OpId after_record = h.kernel(first, 1, 500'000);
  h.instant(second, record);
  const OpId waiting = h.kernel(second, 1, 10'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GE(h.start_of(waiting), h.end_of(record));
  EXPECT_LT(h.end_of(waiting), h.end_of(after_record));
}

TEST(StreamOrder, WaitingForAnEventThatIsLongDoneCostsNothing) {
  Harness h;
  const uint32_t client = h.client(true);
  const OpId record = h.instant(h.stream(client));
  ASSERT_TRUE(h.run_dry());
  const uint32_t second = h.stream(client);
  h.instant(second, record);
  const OpId kernel = h.kernel(second, 1, 10'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_TRUE(h.is_done(kernel));
}

TEST(StreamOrder, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  Harness h;
  const uint32_t client = h.client(true);
  const uint32_t legacy = h.stream(client, StreamKind::kLegacy);
  const uint32_t blocking = h.stream(client, StreamKind::kBlocking);
  const uint32_t other_blocking = h.stream(client, StreamKind::kBlocking);
  const uint32_t independent = h.stream(client, StreamKind::kNonBlocking);
  const OpId before = h.kernel(blocking, 1, 100'000);
  const OpId on_legacy = h.kernel(legacy, 1, 100'000);
  const OpId after = h.kernel(other_blocking, 1, 100'000);
  const OpId free_one = h.kernel(independent, 1, 100'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GE(h.start_of(on_legacy), h.end_of(before));
  EXPECT_GE(h.start_of(after), h.end_of(on_legacy));
  EXPECT_TRUE(overlap(h, free_one, before));
}

TEST(StreamOrder, TheLegacyStreamOfOneClientIsNothingToAnother) {
  Harness h;
  const uint32_t a = h.client(true);
  const uint32_t b = h.client(true);
  const OpId legacy_a = h.kernel(h.stream(a, StreamKind::kLegacy), 1, 100'000);
  const OpId blocking_b = h.kernel(h.stream(b, StreamKind::kBlocking), 1, 100'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_TRUE(overlap(h, legacy_a, blocking_b));
}

TEST(StreamOrder, AHostFunctionHoldsItsStreamUntilItIsFinished) {
  Harness h;
  const uint32_t client = h.client(true);
  const uint32_t s = h.stream(client);
  const OpId function = h.external(s);
  const OpId kernel = h.kernel(s, 1, 10'000);
  ASSERT_TRUE(h.run_dry());
  EXPECT_FALSE(h.is_done(kernel));
  h.now_ns = 5'000'000;
  h.advance_to(h.now_ns);
  h.engine.finish_external(function, h.now_ns);
  ASSERT_TRUE(h.run_dry());
  EXPECT_GE(h.start_of(kernel), 5'000'000U);
}

TEST(StreamOrder, ADestroyedStreamStillRunsWhatItHolds) {
  Harness h;
  const uint32_t s = h.stream(h.client(true));
  h.kernel(s, 1, 10'000);
  const OpId last = h.kernel(s, 1, 10'000);
  h.engine.remove_stream(s);
  ASSERT_TRUE(h.run_dry());
  EXPECT_TRUE(h.is_done(last));
}

TEST(StreamOrder, EffectsHappenInStreamOrder) {
  Harness h;
  const uint32_t s = h.stream(h.client(true));
  const OpId copy_in = h.copy(s, OpKind::kCopyToDevice, 1 << 20);
  const OpId kernel = h.kernel(s, 10, 10'000);
  const OpId copy_out = h.copy(s, OpKind::kCopyToHost, 1 << 20);
  ASSERT_TRUE(h.run_dry());
  EXPECT_EQ(h.started, (std::vector<OpId>{copy_in, kernel, copy_out}));
  EXPECT_GE(h.spans[kernel].effect_ns, h.end_of(copy_in));
  EXPECT_GE(h.spans[copy_out].effect_ns, h.end_of(kernel));
}

}  // namespace
}  // namespace gacer::simdevice::test
