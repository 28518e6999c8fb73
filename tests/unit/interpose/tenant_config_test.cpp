// SPDX-License-Identifier: Apache-2.0
#include "interpose/tenant_config.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace gacer::interpose {
namespace {

std::map<std::string, std::string> environment;
const char* read_environment(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.c_str();
}

class TenantConfigTest : public testing::Test {
 protected:
  void SetUp() override { environment.clear(); }
  TenantConfig read() {
    return read_tenant_config(&read_environment, {executable_, 42, uid_, pid_namespace_}, warning_,
                              sizeof warning_);
  }
  uid_t uid_ = 1000;
  const char* executable_ = "/usr/bin/python3";
  uint64_t pid_namespace_ = 0;
  char warning_[256] = "unset";
};

TEST_F(TenantConfigTest, given_an_empty_environment_then_defaults_and_no_warning) {
  const TenantConfig config = read();
  EXPECT_STREQ(config.socket_path, "/run/gacer/gacer.sock");
  EXPECT_FALSE(config.socket_was_named);
  EXPECT_STREQ(config.tenant, "python3-42");
  EXPECT_EQ(config.tenant_class, abi::TenantClass::kBatch);
  EXPECT_EQ(config.memory_limit_bytes, 0u);
  EXPECT_EQ(config.weight, 1u);
  EXPECT_EQ(config.priority, 0);
  EXPECT_STREQ(warning_, "");
}

TEST_F(TenantConfigTest, CON_06_given_a_pid_namespace_of_its_own_then_the_default_name_says_so) {
  pid_namespace_ = 0xeffffffc;  // the first one
  EXPECT_STREQ(read().tenant, "python3-42");
  pid_namespace_ = 4026532999;
  EXPECT_STREQ(read().tenant, "python3-42-ns4026532999");
  const std::string long_name(200, 'x');
  executable_ = long_name.c_str();
  EXPECT_LT(std::string(read().tenant).size(), sizeof TenantConfig::tenant - 1);
  EXPECT_TRUE(std::string(read().tenant).ends_with("-42-ns4026532999"));
}

TEST_F(TenantConfigTest, given_a_runtime_dir_then_the_socket_is_there_but_not_for_root) {
  environment["XDG_RUNTIME_DIR"] = "/run/user/1000";
  EXPECT_STREQ(read().socket_path, "/run/user/1000/gacer.sock");
  uid_ = 0;
  EXPECT_STREQ(read().socket_path, "/run/gacer/gacer.sock");
}

TEST_F(TenantConfigTest, given_all_settings_then_they_are_taken) {
  environment = {{"GACER_SOCKET", "/tmp/g.sock"}, {"GACER_TENANT", "web"},
                 {"GACER_CLASS", "latency"},      {"GACER_MEM", "8G"},
                 {"GACER_WEIGHT", "1000"},        {"GACER_PRIORITY", "-7"}};
  const TenantConfig config = read();
  EXPECT_STREQ(config.socket_path, "/tmp/g.sock");
  EXPECT_TRUE(config.socket_was_named);
  EXPECT_STREQ(config.tenant, "web");
  EXPECT_EQ(config.tenant_class, abi::TenantClass::kLatency);
  EXPECT_EQ(config.memory_limit_bytes, 8ULL << 30);
  EXPECT_EQ(config.weight, 1000u);
  EXPECT_EQ(config.priority, -7);
  EXPECT_STREQ(warning_, "");
}

TEST_F(TenantConfigTest, given_unusable_values_then_defaults_and_one_line_that_names_each) {
  environment = {{"GACER_CLASS", "fast"},
                 {"GACER_MEM", "lots"},
                 {"GACER_WEIGHT", "0"},
                 {"GACER_PRIORITY", "1e3"}};
  const TenantConfig config = read();
  EXPECT_EQ(config.tenant_class, abi::TenantClass::kBatch);
  EXPECT_EQ(config.memory_limit_bytes, 0u);
  EXPECT_EQ(config.weight, 1u);
  EXPECT_EQ(config.priority, 0);
  const std::string warning = warning_;
  for (const char* name :
       {"GACER_CLASS='fast'", "GACER_MEM='lots'", "GACER_WEIGHT='0'", "GACER_PRIORITY"})
    EXPECT_NE(warning.find(name), std::string::npos) << warning;
  EXPECT_EQ(warning.find('\n'), std::string::npos);
}

TEST_F(TenantConfigTest, given_values_that_are_too_long_then_they_are_refused_not_cut) {
  environment = {{"GACER_SOCKET", "/" + std::string(300, 'x')},
                 {"GACER_TENANT", std::string(64, 't')}};
  const TenantConfig config = read();
  EXPECT_STREQ(config.socket_path, "/run/gacer/gacer.sock");
  EXPECT_STREQ(config.tenant, "python3-42");
  EXPECT_STRNE(warning_, "");
}

TEST(ParseBytes, given_sizes_then_suffixes_are_powers_of_1024) {
  uint64_t bytes = 0;
  EXPECT_TRUE(parse_bytes("1", bytes) && bytes == 1);
  EXPECT_TRUE(parse_bytes("3k", bytes) && bytes == 3072);
  EXPECT_TRUE(parse_bytes("512M", bytes) && bytes == 512ULL << 20);
  EXPECT_TRUE(parse_bytes("2GiB", bytes) && bytes == 2ULL << 30);
  EXPECT_TRUE(parse_bytes("1TB", bytes) && bytes == 1ULL << 40);
}

TEST(ParseBytes, given_nonsense_then_refused_and_untouched) {
  for (const char* text : {"", "G", "-1", "0", "1.5G", "8GX", "8X", "0x10", " 1",
                           "99999999999999999999", "18446744073709551615K", "1iB"}) {
    uint64_t bytes = 77;
    EXPECT_FALSE(parse_bytes(text, bytes)) << text;
    EXPECT_EQ(bytes, 77u);
  }
}

}  // namespace
}  // namespace gacer::interpose
