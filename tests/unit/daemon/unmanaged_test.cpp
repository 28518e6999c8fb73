// SPDX-License-Identifier: Apache-2.0
// Processes that `gacer run` reports, and why limits are not in force, as status shows them.
#include "runtime/daemon/unmanaged_list.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runtime/daemon/admin.h"
#include "runtime/daemon/enforcement_json.h"

namespace gacer::daemon {
namespace {

using nlohmann::json;

TEST(UnmanagedList, IsReadFromText) {
  const auto process = parse_unmanaged("123 python3 a tenant");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->pid, 123);
  EXPECT_EQ(process->executable, "python3");
  EXPECT_EQ(process->tenant, "a tenant");
  for (const char* text : {"", "x", "123", "123 python3", "123 python3 ", "x python3 t", "-1 a b",
                           "0 a b", "99999999999999 a b", "12x a b"})
    EXPECT_FALSE(parse_unmanaged(text).ok()) << text;
}

TEST(UnmanagedList, SYM_17_HoldsAProcessOnceAndWhileItLives) {
  UnmanagedList list;
  list.add({getpid(), "a", "t"});
  list.add({getpid(), "a", "t"});
  EXPECT_EQ(list.entries().size(), 1u);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  list.add({child, "b", "t"});
  EXPECT_EQ(list.entries().size(), 1u);
}

TEST(UnmanagedList, DoesNotGrowWithoutEnd) {
  UnmanagedList list;
  std::vector<pid_t> children;
  for (size_t i = 0; i < UnmanagedList::kMaxEntries + 5; ++i) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) pause();
    children.push_back(child);
    list.add({child, "a", "t"});
  }
  EXPECT_EQ(list.entries().size(), UnmanagedList::kMaxEntries);
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(list.entries().empty());
}

TEST(UnmanagedRequest, IsShownByStatus) {
  auto table = TenantTable::create(regulator::Regulator::create("priority"));
  ASSERT_TRUE(table.ok());
  const DaemonFacts facts{"/s", 5};
  EXPECT_EQ(answer_admin("version", **table, facts).text,
            "ok\n" + std::to_string(abi::kAbiVersion));
  EXPECT_EQ(answer_admin("unmanaged x", **table, facts).text.substr(0, 6), "error ");
  const std::string request = "unmanaged " + std::to_string(getpid()) + " tool my tenant";
  EXPECT_EQ(answer_admin(request, **table, facts).text, "ok");
  const json status = json::parse(answer_admin("status", **table, facts).text.substr(3));
  EXPECT_EQ(status.at("unmanaged"),
            json::array({{{"pid", getpid()}, {"executable", "tool"}, {"tenant", "my tenant"}}}));
}

class Enforcement : public testing::Test {
 protected:
  json state() { return enforcement_json(all_, tenant_, memory_, coverage_); }
  std::string why(const char* what) { return state().at(what).at("why"); }
  bool enforced(const char* what) { return state().at(what).at("enforced"); }

  regulator::Snapshot all_;
  regulator::TenantSnapshot tenant_;
  MemoryAnswer memory_;
  CoverageTotals coverage_;
};

TEST_F(Enforcement, PERF_04_AWindowOnABatchTenantIsEnforced) {
  all_.policy = "priority";
  tenant_.config.tenant_class = regulator::TenantClass::kBatch;
  tenant_.gate.mode = regulator::GateMode::kWindow;
  EXPECT_TRUE(enforced("compute"));
  EXPECT_EQ(why("compute"), "");
}

TEST_F(Enforcement, PERF_04_EachReasonIsTold) {
  all_.policy = "priority";
  tenant_.config.tenant_class = regulator::TenantClass::kLatency;
  EXPECT_NE(why("compute").find("latency"), std::string::npos);
  tenant_.config.tenant_class = regulator::TenantClass::kBatch;
  EXPECT_NE(why("compute").find("nobody"), std::string::npos);
  all_.policy = "passthrough";
  EXPECT_NE(why("compute").find("passthrough"), std::string::npos);
  EXPECT_NE(why("memory").find("--mem"), std::string::npos);
  memory_.tenant_limit_bytes = 5;
  EXPECT_TRUE(enforced("memory"));
}

TEST_F(Enforcement, PERF_04_WhatPassedByMakesALimitUnenforced) {
  memory_.tenant_limit_bytes = 5;
  coverage_.attached[static_cast<size_t>(abi::CoveredFunction::k_cuMemAlloc)][0] = 7;
  EXPECT_NE(why("memory").find("7 allocations"), std::string::npos);
  const auto launch = static_cast<size_t>(abi::CoveredFunction::k_cuLaunchKernel);
  tenant_.gate.mode = regulator::GateMode::kWindow;
  coverage_.attached[launch][static_cast<size_t>(abi::CoverageStream::kCapturing)] = 3;
  EXPECT_TRUE(enforced("compute"));
  coverage_.attached[launch][static_cast<size_t>(abi::CoverageStream::kLegacy)] = 3;
  EXPECT_NE(why("compute").find("3 launches"), std::string::npos);
}

}  // namespace
}  // namespace gacer::daemon
