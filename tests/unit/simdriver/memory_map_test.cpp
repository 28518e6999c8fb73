// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/driver/memory.h"

namespace gacer::simdriver {
namespace {

Allocation allocation(uint64_t base, uint64_t bytes, uint32_t context = 1) {
  Allocation result;
  result.base = base;
  result.bytes = bytes;
  result.context_id = context;
  return result;
}

TEST(MemoryMap, FindsWhatLiesInside) {
  MemoryMap map;
  map.add(allocation(1000, 100));
  map.add(allocation(2000, 10));
  EXPECT_EQ(map.find(1000)->base, 1000U);
  EXPECT_EQ(map.find(1099)->base, 1000U);
  EXPECT_TRUE(map.find(1000, 100));
  EXPECT_EQ(map.find(2005, 5)->base, 2000U);
}

TEST(MemoryMap, DoesNotFindWhatReachesOut) {
  MemoryMap map;
  map.add(allocation(1000, 100));
  EXPECT_FALSE(map.find(999));
  EXPECT_FALSE(map.find(1100));
  EXPECT_FALSE(map.find(1000, 101));
  EXPECT_FALSE(map.find(1099, 2));
  EXPECT_FALSE(map.find(1050, UINT64_MAX));
}

TEST(MemoryMap, SeesOverlapsFromBothSides) {
  MemoryMap map;
  map.add(allocation(1000, 100));
  EXPECT_TRUE(map.overlaps(950, 51));
  EXPECT_FALSE(map.overlaps(950, 50));
  EXPECT_TRUE(map.overlaps(1099, 1));
  EXPECT_FALSE(map.overlaps(1100, 1));
  EXPECT_TRUE(map.overlaps(900, 1000));
}

TEST(MemoryMap, GivesUpOneContextOnly) {
  MemoryMap map;
  map.add(allocation(1000, 100, 1));
  map.add(allocation(2000, 100, 2));
  EXPECT_EQ(map.remove_context(1).size(), 1U);
  EXPECT_FALSE(map.find(1000));
  EXPECT_TRUE(map.find(2000));
  EXPECT_TRUE(map.remove(2000));
  EXPECT_FALSE(map.remove(2000));
}

TEST(MemoryMap, KnowsTheDeviceRange) {
  MemoryMap map;
  map.set_device_range(0x1000, 0x100);
  EXPECT_TRUE(map.in_device_range(0x1000));
  EXPECT_TRUE(map.in_device_range(0x10ff));
  EXPECT_FALSE(map.in_device_range(0x1100));
  EXPECT_FALSE(map.in_device_range(0xfff));
}

}  // namespace
}  // namespace gacer::simdriver
