// SPDX-License-Identifier: Apache-2.0
#include "interpose/coverage.h"

#include <gtest/gtest.h>

#include "interpose/shim.h"
#include "runtime/abi/function_names.h"
#include "tests/unit/interpose/fake_driver.h"

namespace gacer::interpose {
namespace {

using abi::CoverageStream;
using abi::CoveredFunction;

class Coverage : public testing::Test {
 protected:
  void SetUp() override {
    test::reset_shim();
    reset_coverage();
  }
  static uint64_t calls(const abi::CoverageCounts& counts, CoveredFunction function,
                        CoverageStream stream) {
    return counts.calls[static_cast<uint32_t>(function)][static_cast<uint32_t>(stream)].load();
  }
  static abi::CoverageWords& attach() {
    Attachment& attachment = test::attach_fake();
    move_coverage_to(attachment);
    return attachment.segment.coverage;
  }
  static void detach() { shim().session.publish(nullptr); }
};

constexpr auto kLaunch = CoveredFunction::k_cuLaunchKernel;
constexpr auto kAlloc = CoveredFunction::k_cuMemAlloc;

TEST_F(Coverage, CountsByFunctionAndStreamKind) {
  const abi::CoverageWords& words = attach();
  count_unregulated(kLaunch, StreamRef{nullptr, false}, false);
  count_unregulated(kLaunch, StreamRef{nullptr, true}, false);
  count_unregulated(kLaunch, StreamRef{CU_STREAM_LEGACY, true}, false);
  count_unregulated(kLaunch, StreamRef{CU_STREAM_PER_THREAD, false}, false);
  count_unregulated(kLaunch, StreamRef{test::stream_number(1), false}, false);
  count_unregulated(kLaunch, StreamRef{test::stream_number(1), false}, true);
  count_unregulated(kAlloc, CoverageStream::kNoStream);
  EXPECT_EQ(calls(words.attached, kLaunch, CoverageStream::kLegacy), 2u);
  EXPECT_EQ(calls(words.attached, kLaunch, CoverageStream::kPerThread), 2u);
  EXPECT_EQ(calls(words.attached, kLaunch, CoverageStream::kCreated), 1u);
  EXPECT_EQ(calls(words.attached, kLaunch, CoverageStream::kCapturing), 1u);
  EXPECT_EQ(calls(words.attached, kAlloc, CoverageStream::kNoStream), 1u);
  EXPECT_EQ(shim().session.current()->segment.progress.unregulated, 7u);
}

TEST_F(Coverage, WhatWasCountedWhileDetachedIsShownAfterAttachingAndOnlyOnce) {
  count_unregulated(kAlloc, CoverageStream::kNoStream);
  count_unregulated(kAlloc, CoverageStream::kNoStream);
  const abi::CoverageWords& first = attach();
  EXPECT_EQ(calls(first.before_attach, kAlloc, CoverageStream::kNoStream), 2u);
  EXPECT_EQ(calls(first.attached, kAlloc, CoverageStream::kNoStream), 0u);
  detach();
  count_unregulated(kAlloc, CoverageStream::kNoStream);
  const abi::CoverageWords& second = attach();
  EXPECT_EQ(calls(second.before_attach, kAlloc, CoverageStream::kNoStream), 1u);
}

TEST_F(Coverage, AForkChildStartsAtZero) {
  count_unregulated(kAlloc, CoverageStream::kNoStream);
  note_handed_out_function("cuLaunchKernelNext");
  reset_coverage();
  const abi::CoverageWords& words = attach();
  EXPECT_EQ(calls(words.before_attach, kAlloc, CoverageStream::kNoStream), 0u);
  EXPECT_EQ(words.unknown[0].named, 0u);
}

TEST_F(Coverage, STR_03_ALaunchFunctionWithoutAHookIsCountedByName) {
  uint64_t forwarder_calls = 1;
  note_forwarded_function("cuLaunchKernelNext", &forwarder_calls);
  note_forwarded_function("cuDeviceGetNext", &forwarder_calls);
  abi::CoverageWords& words = attach();
  forwarder_calls = 5;
  refresh_coverage(*shim().session.current());
  EXPECT_STREQ(words.unknown[0].name, "cuLaunchKernelNext");
  EXPECT_EQ(words.unknown[0].calls, 5u);
  EXPECT_EQ(words.unknown[1].named, 0u);
}

TEST_F(Coverage, ASecondAttachmentIsToldOnlyWhatIsNew) {
  uint64_t forwarder_calls = 3;
  note_forwarded_function("cuLaunchKernelNext", &forwarder_calls);
  EXPECT_EQ(attach().unknown[0].calls, 3u);
  detach();
  forwarder_calls = 4;
  EXPECT_EQ(attach().unknown[0].calls, 1u);
}

TEST_F(Coverage, AHandedOutPointerIsCountedOncePerLookup) {
  const abi::CoverageWords& words = attach();
  note_handed_out_function("cuMemAllocNear");
  note_handed_out_function("cuMemAllocNear");
  EXPECT_STREQ(words.unknown[0].name, "cuMemAllocNear");
  EXPECT_EQ(words.unknown[0].handed_out, 2u);
  EXPECT_EQ(words.unknown[0].calls, 0u);
}

TEST_F(Coverage, LongNamesAreCutAndTooManyAreCountedTogether) {
  note_handed_out_function(("cuLaunch" + std::string(200, 'x')).c_str());
  for (int i = 0; i < 20; ++i) note_handed_out_function(("cuLaunch" + std::to_string(i)).c_str());
  const abi::CoverageWords& words = attach();
  EXPECT_EQ(std::string(words.unknown[0].name).size(), abi::kUnknownNameBytes - 1);
  EXPECT_EQ(words.unknown_beyond, 5u);
}

TEST(UnknownFunctionNames, LaunchesAndDeviceAllocationsOnly) {
  for (const char* name : {"cuLaunchKernelNext", "cuGraphLaunchMany", "cuMemAllocNear",
                           "cuMemCreate_v2", "cuArray4DCreate", "cuMipmappedArrayCreate_v2"})
    EXPECT_TRUE(abi::sounds_like_launch_or_allocation(name)) << name;
  for (const char* name : {"cuLaunchHostFunc", "cuMemHostAlloc", "cuMemAllocHost_v2",
                           "cuMemGetAllocationGranularity", "cuMemFree_v2", "cuInit", "launch"})
    EXPECT_FALSE(abi::sounds_like_launch_or_allocation(name)) << name;
}

}  // namespace
}  // namespace gacer::interpose
