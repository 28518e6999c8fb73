// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/admin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace gacer::daemon {
namespace {

using nlohmann::json;

class Admin : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TenantTable::create(regulator::Regulator::create("priority"));
    ASSERT_TRUE(made.ok());
    table_ = std::move(made).value();
  }
  std::string answer(std::string_view request) {
    return answer_admin(request, *table_, facts_).text;
  }
  json status() {
    const std::string text = answer("status");
    EXPECT_EQ(text.substr(0, 3), "ok\n");
    return json::parse(text.substr(3));
  }
  void attach(const std::string& name) {
    AttachRequest request;
    request.config.name = name;
    request.config.memory_limit_bytes = 1000;
    request.memory_in_use_bytes = 10;
    request.executable = "/bin/" + name;
    ASSERT_TRUE(table_->attach(request, 0, 42, 1).ok());
  }

  std::unique_ptr<TenantTable> table_;
  DaemonFacts facts_{"/s", 5};
};

TEST_F(Admin, StatusNamesPolicyKnobsAndTenants) {
  attach("bert");
  const json document = status();
  EXPECT_EQ(document.at("policy"), "priority");
  EXPECT_EQ(document.at("socket"), "/s");
  EXPECT_FALSE(document.at("knobs").empty());
  ASSERT_EQ(document.at("tenants").size(), 1u);
  const json& tenant = document.at("tenants")[0];
  EXPECT_EQ(tenant.at("name"), "bert");
  EXPECT_EQ(tenant.at("class"), "batch");
  EXPECT_EQ(tenant.at("pids"), json::array({42}));
  EXPECT_EQ(tenant.at("memory_used_bytes"), 10);
  EXPECT_EQ(tenant.at("memory_limit_bytes"), 1000);
  EXPECT_EQ(tenant.at("wait_ms_by_reason").at("latency"), 0.0);
  EXPECT_EQ(tenant.at("processes")[0].at("executable"), "/bin/bert");
}

TEST_F(Admin, ALowerLimitKeepsWhatIsHeldAndReachesTheProcesses) {
  AttachRequest request;
  request.config.name = "a=b";
  request.config.memory_limit_bytes = 1000;
  request.memory_in_use_bytes = 10;
  ASSERT_TRUE(table_->attach(request, geteuid(), 42, 1).ok());
  EXPECT_EQ(answer("limit a=b=5"), "ok");
  EXPECT_EQ(status().at("tenants")[0].at("memory_limit_bytes"), 5);
  EXPECT_EQ(status().at("tenants")[0].at("memory_used_bytes"), 10);
  EXPECT_EQ(answer("limit stranger=5").substr(0, 5), "error");
  for (const char* bad : {"limit a", "limit a=", "limit a=-1", "limit a=5x", "limit =5"})
    EXPECT_EQ(answer(bad).substr(0, 5), "error") << bad;
}

TEST_F(Admin, ChangesPolicyAndKnobsLive) {
  const uint64_t generation = status().at("generation");
  EXPECT_EQ(answer("policy timeslice"), "ok");
  EXPECT_EQ(answer("tune window_us=123"), "ok");
  const json document = status();
  EXPECT_EQ(document.at("policy"), "timeslice");
  EXPECT_GT(document.at("generation"), generation);
  for (const json& knob : document.at("knobs")) {
    if (knob.at("key") == "window_us") {
      EXPECT_EQ(knob.at("value"), "123");
    }
  }
}

TEST_F(Admin, ABadKeyOrValueIsOneLineAndChangesNothing) {
  const json before = status();
  for (const char* request : {"tune nope=1", "tune window_us=0",
                              "tune window_us=", "tune window_us", "tune =1", "policy nope"}) {
    const std::string text = answer(request);
    EXPECT_EQ(text.substr(0, 6), "error ") << request;
    EXPECT_EQ(text.find('\n'), std::string::npos) << request;
  }
  EXPECT_NE(answer("tune nope=1").find("window_us"), std::string::npos);  // lists the keys
  EXPECT_EQ(status(), before);
}

TEST_F(Admin, UnknownRequestsAreAnsweredWithTheKnownOnes) {
  for (const char* request : {"", " ", "reboot", "status now", "policy", "shutdown x"})
    EXPECT_NE(answer(request).find("known: status"), std::string::npos) << request;
}

TEST_F(Admin, OnlyShutdownShutsDown) {
  EXPECT_TRUE(answer_admin("shutdown", *table_, facts_).shutdown);
  EXPECT_FALSE(answer_admin("status", *table_, facts_).shutdown);
}

TEST_F(Admin, AStatusTooBigForOneReplyLeavesOutProcesses) {
  for (int i = 0; i < 40; ++i) attach("t");
  const auto full = status_json(*table_, facts_, 1 << 20);
  ASSERT_TRUE(full.ok());
  const auto cut = status_json(*table_, facts_, full->size() - 1);
  ASSERT_TRUE(cut.ok());
  EXPECT_TRUE(json::parse(*cut).at("truncated"));
  EXPECT_FALSE(status_json(*table_, facts_, 100).ok());
}

}  // namespace
}  // namespace gacer::daemon
