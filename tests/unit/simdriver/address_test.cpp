// SPDX-License-Identifier: Apache-2.0
// Which devices a process sees, and where it reserves addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/simdevice/driver/virtual_memory.h"
#include "runtime/simdevice/driver/visible_devices.h"

namespace gacer::simdriver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kUuids = {"GPU-1234abcd-01", "GPU-1234ffff-02", "GPU-77777777-03"};

std::vector<uint32_t> visible(const char* list) {
  return visible_devices(list, kUuids);
}

TEST(VisibleDevices, AllWithoutAList) {
  EXPECT_THAT(visible(nullptr), ElementsAre(0, 1, 2));
}

TEST(VisibleDevices, IndicesInTheOrderOfTheList) {
  EXPECT_THAT(visible("2,0"), ElementsAre(2, 0));
  EXPECT_THAT(visible(" 1 , 2"), ElementsAre(1, 2));
  EXPECT_THAT(visible("1gpu,2x"), ElementsAre(1, 2));
}

TEST(VisibleDevices, NoneForAnEmptyListOrMinusOne) {
  EXPECT_THAT(visible(""), IsEmpty());
  EXPECT_THAT(visible("-1"), IsEmpty());
  EXPECT_THAT(visible("NoDevFiles"), IsEmpty());
}

TEST(VisibleDevices, TheFirstInvalidEntryEndsTheList) {
  EXPECT_THAT(visible("0,3,1"), ElementsAre(0));
  EXPECT_THAT(visible("1,-1,0"), ElementsAre(1));
  EXPECT_THAT(visible("2,,1"), ElementsAre(2));
  EXPECT_THAT(visible("GPU-77777777-03,GPU-none,GPU-1234abcd-01"), ElementsAre(2));
}

TEST(VisibleDevices, UuidsMayBeShortenedWhileTheyAreUnambiguous) {
  EXPECT_THAT(visible("GPU-7,GPU-1234f"), ElementsAre(2, 1));
  EXPECT_THAT(visible("GPU-1234"), IsEmpty());
  EXPECT_THAT(visible("GPU-"), IsEmpty());
  EXPECT_THAT(visible("GPU-7,0"), ElementsAre(2));
}

TEST(VisibleDevices, ADeviceNamedTwiceLeavesNone) {
  EXPECT_THAT(visible("0,1,0"), IsEmpty());
  EXPECT_THAT(visible("GPU-7,GPU-77"), IsEmpty());
}

TEST(AddressRanges, ReservesDisjointAlignedRangesAndReusesThem) {
  AddressRanges ranges(0x10000, 0x20000);
  EXPECT_EQ(ranges.reserve(0x1000, 0x1000, 0), 0x10000U);
  EXPECT_EQ(ranges.reserve(0x1000, 0x4000, 0), 0x14000U);
  EXPECT_EQ(ranges.reserve(0x2000, 0x1000, 0), 0x11000U);
  EXPECT_TRUE(ranges.holds(0x12fff, 1));
  EXPECT_FALSE(ranges.holds(0x12fff, 2));
  EXPECT_FALSE(ranges.release(0x11000, 0x1000));
  EXPECT_TRUE(ranges.release(0x11000, 0x2000));
  EXPECT_FALSE(ranges.holds(0x11000, 1));
  EXPECT_EQ(ranges.reserve(0x1000, 0x1000, 0), 0x11000U);
}

TEST(AddressRanges, TakesAHintOnlyWhereItIsFree) {
  AddressRanges ranges(0x10000, 0x20000);
  EXPECT_EQ(ranges.reserve(0x1000, 0x1000, 0x18000), 0x18000U);
  EXPECT_EQ(ranges.reserve(0x1000, 0x1000, 0x18000), 0x10000U);
  EXPECT_EQ(ranges.reserve(0x1000, 0x1000, 0x90000), 0x11000U);
  EXPECT_FALSE(ranges.reserve(0x10000, 0x1000, 0).has_value());
}

}  // namespace
}  // namespace gacer::simdriver
