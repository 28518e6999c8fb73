// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/memory_ledger.h"

#include <gtest/gtest.h>

namespace gacer::daemon {
namespace {

constexpr uint64_t kTenant = 1;
constexpr uint64_t kFirst = 10;
constexpr uint64_t kSecond = 11;

class Ledger : public testing::Test {
 protected:
  void SetUp() override {
    ledger_.add_process(kFirst, kTenant, 100, 0);
    ledger_.add_process(kSecond, kTenant, 0, 0);  // the first one's limit counts
  }
  uint64_t used() const { return ledger_.usage_of_tenant(kTenant).tenant_used_bytes; }
  MemoryLedger ledger_;
};

TEST_F(Ledger, ProcessesOfATenantShareItsLimit) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 60).granted);
  const MemoryAnswer refused = ledger_.reserve(kSecond, 41);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.tenant_used_bytes, 60u);
  EXPECT_EQ(refused.tenant_limit_bytes, 100u);
  EXPECT_TRUE(ledger_.reserve(kSecond, 40).granted);
  EXPECT_FALSE(ledger_.reserve(kFirst, 1).granted);
}

TEST_F(Ledger, AReleaseMakesRoom) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 100).granted);
  ledger_.release(kFirst, 30);
  EXPECT_TRUE(ledger_.reserve(kSecond, 30).granted);
  EXPECT_EQ(used(), 100u);
}

TEST_F(Ledger, AProcessCannotReleaseWhatItDoesNotHold) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 50).granted);
  ledger_.release(kSecond, 50);
  EXPECT_EQ(used(), 50u);
  ledger_.release(kFirst, UINT64_MAX);
  EXPECT_EQ(used(), 0u);
}

TEST_F(Ledger, AnEndedProcessGivesItsMemoryBack) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 60).granted);
  EXPECT_TRUE(ledger_.reserve(kSecond, 40).granted);
  ledger_.remove_process(kFirst);
  EXPECT_EQ(used(), 40u);
  EXPECT_EQ(ledger_.used_by_process(kFirst), 0u);
  EXPECT_TRUE(ledger_.reserve(kSecond, 60).granted);
}

TEST_F(Ledger, ATenantWithoutProcessesIsForgotten) {
  ledger_.remove_process(kFirst);
  ledger_.remove_process(kSecond);
  ledger_.remove_process(kSecond);
  ledger_.add_process(12, kTenant, 7, 0);
  EXPECT_EQ(ledger_.usage_of_tenant(kTenant).tenant_limit_bytes, 7u);
}

TEST_F(Ledger, HugeRequestsDoNotWrap) {
  EXPECT_TRUE(ledger_.reserve(kFirst, 50).granted);
  EXPECT_FALSE(ledger_.reserve(kFirst, UINT64_MAX).granted);
  EXPECT_FALSE(ledger_.reserve(kFirst, UINT64_MAX - 49).granted);
  EXPECT_EQ(used(), 50u);
}

TEST_F(Ledger, WhatAReattachedProcessHoldsCountsEvenOverTheLimit) {
  ledger_.add_process(12, 2, 100, 150);
  EXPECT_EQ(ledger_.usage_of_tenant(2).tenant_used_bytes, 150u);
  EXPECT_FALSE(ledger_.reserve(12, 1).granted);
  ledger_.release(12, 60);
  EXPECT_TRUE(ledger_.reserve(12, 10).granted);
  ledger_.add_process(13, 2, 0, UINT64_MAX);  // a forged claim must not wrap the sum
  EXPECT_GT(ledger_.usage_of_tenant(2).tenant_used_bytes, 100u);
  ledger_.remove_process(13);
  EXPECT_EQ(ledger_.usage_of_tenant(2).tenant_used_bytes, 100u);
}

TEST_F(Ledger, WithoutALimitEverythingIsGranted) {
  ledger_.add_process(20, 3, 0, 0);
  EXPECT_TRUE(ledger_.reserve(20, uint64_t{1} << 50).granted);
  EXPECT_EQ(ledger_.reserve(20, 0).tenant_limit_bytes, 0u);
}

TEST_F(Ledger, AnUnknownProcessGetsNothing) {
  EXPECT_FALSE(ledger_.reserve(99, 1).granted);
  ledger_.release(99, 1);
}

}  // namespace
}  // namespace gacer::daemon
