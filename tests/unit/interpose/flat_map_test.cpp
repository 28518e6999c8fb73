// SPDX-License-Identifier: Apache-2.0
#include "interpose/flat_map.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace gacer::interpose {
namespace {

TEST(FlatMap, given_random_operations_then_it_agrees_with_the_standard_map) {
  static FlatMap map;
  std::unordered_map<uint64_t, uint64_t> expected;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t key = 1 + random() % 500;
    if (random() % 3 != 0) {
      ASSERT_TRUE(map.set(key, static_cast<uint64_t>(i)));
      expected[key] = static_cast<uint64_t>(i);
    } else {
      uint64_t value = 0;
      ASSERT_EQ(map.take(key, value), expected.erase(key) == 1);
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  for (uint64_t key = 1; key <= 500; ++key) {
    const uint64_t* found = map.find(key);
    ASSERT_EQ(found != nullptr, expected.count(key) == 1) << key;
    if (found != nullptr) {
      EXPECT_EQ(*found, expected[key]);
    }
  }
}

TEST(FlatMap, given_reserved_keys_then_they_are_refused_and_unknown) {
  static FlatMap map;
  EXPECT_FALSE(map.set(0, 1));
  EXPECT_FALSE(map.set(UINT64_MAX, 1));
  EXPECT_TRUE(map.set(5, 1));
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.find(UINT64_MAX), nullptr);
  map.clear();
  EXPECT_EQ(map.find(5), nullptr);
}

}  // namespace
}  // namespace gacer::interpose
