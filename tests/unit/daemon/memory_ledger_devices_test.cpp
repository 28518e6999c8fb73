// SPDX-License-Identifier: Apache-2.0
// The ledger by device, and the share of contexts and modules.
#include <gtest/gtest.h>

#include "runtime/daemon/memory_ledger.h"

namespace gacer::daemon {
namespace {

constexpr uint64_t kTenant = 1;
constexpr uint64_t kFirst = 10;
constexpr uint64_t kSecond = 11;
constexpr abi::DeviceUuid kOne = {1};
constexpr abi::DeviceUuid kTwo = {2};
using Kind = abi::MemoryKind;

class LedgerByDevice : public testing::Test {
 protected:
  void SetUp() override {
    ledger_.add_process(kFirst, kTenant, 100, 0, kOne);
    ledger_.add_process(kSecond, kTenant, 0, 0, kTwo);
  }
  uint64_t used(const abi::DeviceUuid& device) const {
    return ledger_.usage_on_device(kTenant, device).tenant_used_bytes;
  }
  uint64_t overhead(const abi::DeviceUuid& device) const {
    return ledger_.usage_on_device(kTenant, device).tenant_overhead_bytes;
  }
  bool overhead_of(uint64_t process, uint64_t bytes) {
    return ledger_.reserve(process, bytes, kOne, Kind::kOverhead).granted;
  }
  MemoryLedger ledger_;
};

TEST_F(LedgerByDevice, CON_09_given_two_devices_then_each_has_the_whole_limit) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 100, kOne).granted);
  EXPECT_TRUE(ledger_.reserve(kSecond, 100, kTwo).granted);
  EXPECT_FALSE(ledger_.reserve(kSecond, 1, kOne).granted);
  EXPECT_EQ(used(kOne), 100u);
  EXPECT_EQ(used(kTwo), 100u);
  EXPECT_EQ(ledger_.usage_of_tenant(kTenant).tenant_used_bytes, 200u);
  ledger_.remove_process(kFirst);
  EXPECT_EQ(used(kOne), 0u);
  EXPECT_EQ(used(kTwo), 100u);
}

TEST_F(LedgerByDevice, given_a_release_on_another_device_then_nothing_comes_back) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 100, kOne).granted);
  ledger_.release(kFirst, 100, kTwo);
  EXPECT_EQ(used(kOne), 100u);
}

TEST_F(LedgerByDevice, given_memory_that_is_held_already_then_it_counts_above_the_limit) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 150, kTwo, Kind::kHeld).granted);
  EXPECT_EQ(used(kTwo), 150u);
  EXPECT_FALSE(ledger_.reserve(kFirst, 1, kTwo).granted);
  ledger_.release(kFirst, 100, kTwo);
  EXPECT_TRUE(ledger_.reserve(kFirst, 50, kTwo).granted);
}

TEST_F(LedgerByDevice, MEM_04_given_overhead_then_it_is_shown_and_counted) {
  EXPECT_TRUE(overhead_of(kFirst, 30));
  EXPECT_EQ(overhead(kOne), 30u);
  EXPECT_EQ(used(kOne), 30u);
  EXPECT_FALSE(ledger_.reserve(kFirst, 71, kOne).granted);
  EXPECT_TRUE(ledger_.reserve(kFirst, 70, kOne).granted);
  ledger_.release(kFirst, 30, kOne, Kind::kOverhead);
  EXPECT_EQ(overhead(kOne), 0u);
  EXPECT_EQ(used(kOne), 70u);
}

TEST_F(LedgerByDevice, MEM_04_given_overhead_that_alone_exceeds_the_limit_then_it_is_only_shown) {
  EXPECT_TRUE(overhead_of(kFirst, 60));
  EXPECT_TRUE(overhead_of(kSecond, 60));
  EXPECT_EQ(overhead(kOne), 120u);
  EXPECT_EQ(used(kOne), 60u);
  EXPECT_TRUE(ledger_.reserve(kSecond, 40, kOne).granted);
  ledger_.remove_process(kFirst);
  EXPECT_EQ(overhead(kOne), 60u);
  EXPECT_EQ(used(kOne), 40u);
  ledger_.release(kSecond, UINT64_MAX, kOne, Kind::kOverhead);
  EXPECT_EQ(used(kOne), 40u);
}

TEST_F(LedgerByDevice, given_a_lower_limit_then_what_is_held_stays_and_new_is_refused) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 80, kOne).granted);
  ledger_.set_limit(kTenant, 50);
  EXPECT_EQ(used(kOne), 80u);
  const MemoryAnswer refused = ledger_.reserve(kFirst, 1, kOne);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.tenant_limit_bytes, 50u);
  ledger_.release(kFirst, 40, kOne);
  EXPECT_TRUE(ledger_.reserve(kFirst, 10, kOne).granted);
}

TEST_F(LedgerByDevice, given_a_process_that_moves_then_all_it_holds_moves) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 60, kOne).granted);
  EXPECT_TRUE(ledger_.reserve(kFirst, 50, kTwo).granted);
  EXPECT_TRUE(overhead_of(kFirst, 10));
  ledger_.add_process(20, 2, 30, 0, kOne);
  ledger_.move_process(kFirst, 2);
  EXPECT_EQ(used(kOne) + used(kTwo), 0u);
  EXPECT_EQ(ledger_.tenant_of(kFirst), 2u);
  EXPECT_EQ(ledger_.usage_on_device(2, kOne).tenant_used_bytes, 70u);
  EXPECT_FALSE(ledger_.reserve(20, 1, kOne).granted);
  ledger_.remove_process(kFirst);
  EXPECT_TRUE(ledger_.reserve(20, 30, kOne).granted);
}

TEST_F(LedgerByDevice, given_invented_devices_then_the_ledger_does_not_grow_without_end) {
  uint64_t granted = 0;
  for (uint32_t i = 0; i < 1000; ++i)
    granted += ledger_.reserve(kFirst, 1, {9, uint8_t(i), uint8_t(i >> 8)}).granted ? 1u : 0u;
  EXPECT_LT(granted, 100u);
  EXPECT_TRUE(ledger_.reserve(kFirst, 1, kOne).granted);
}

}  // namespace
}  // namespace gacer::daemon
