// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/kernel_table.h"

#include <gtest/gtest.h>

namespace gacer::regulator {
namespace {

KernelEstimate kernel(uint64_t id) {
  KernelEstimate estimate;
  estimate.key.kernel_id = id;
  estimate.duration_ns = static_cast<double>(id);
  return estimate;
}

TEST(KernelTable, TheLeastRecentlyUsedGoes) {
  KernelTable table(2);
  table.insert(kernel(1));
  table.insert(kernel(2));
  ASSERT_NE(table.find(kernel(1).key), nullptr);
  table.insert(kernel(3));
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.find(kernel(2).key), nullptr);
  EXPECT_EQ(table.find(kernel(1).key)->duration_ns, 1);
  EXPECT_EQ(table.find(kernel(3).key)->duration_ns, 3);
}

TEST(KernelKey, ShapesOfOneKernelAreToldApart) {
  LaunchEvent launch;
  launch.kind = 1;
  launch.kernel_id = 7;
  launch.blocks = 10;
  const KernelKey key = key_of(launch);
  EXPECT_EQ(key_of(launch), key);
  launch.blocks = 11;
  EXPECT_NE(key_of(launch), key);
}

TEST(KernelKey, CopiesAreToldApartByMagnitudeOnly) {
  LaunchEvent launch;
  launch.kind = 2;
  launch.blocks = 5000;
  const KernelKey key = key_of(launch);
  launch.blocks = 8000;
  EXPECT_EQ(key_of(launch), key);
  launch.blocks = 9000;
  EXPECT_NE(key_of(launch), key);
}

}  // namespace
}  // namespace gacer::regulator
