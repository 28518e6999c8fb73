// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/hello_check.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "runtime/shm/tenant_channel.h"

namespace gacer::daemon {
namespace {

abi::HelloMessage good_hello() {
  abi::HelloMessage hello = shm::make_hello();
  strcpy(hello.tenant, "bert");
  hello.weight = 3;
  hello.priority = -7;
  hello.sm_count = 108;
  return hello;
}

Result<AttachRequest> check(const std::function<void(abi::HelloMessage&)>& change) {
  abi::HelloMessage hello = good_hello();
  change(hello);
  return check_hello(&hello, sizeof hello);
}

TEST(HelloCheck, TurnsAGoodHelloIntoValues) {
  const auto request = check([](auto& hello) { hello.memory_limit_bytes = 5; });
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->config.name, "bert");
  EXPECT_EQ(request->config.tenant_class, regulator::TenantClass::kLatency);
  EXPECT_EQ(request->config.weight, 3u);
  EXPECT_EQ(request->config.priority, -7);
  EXPECT_EQ(request->config.memory_limit_bytes, 5u);
  EXPECT_EQ(request->device.sm_count, 108u);
}

TEST(HelloCheck, EveryFieldOutOfItsRangeIsNamed) {
  const struct {
    const char* field;
    std::function<void(abi::HelloMessage&)> change;
  } rows[] = {
      {"tenant_class", [](auto& hello) { hello.tenant_class = 2; }},
      {"weight", [](auto& hello) { hello.weight = 0; }},
      {"weight", [](auto& hello) { hello.weight = 1001; }},
      {"priority", [](auto& hello) { hello.priority = INT32_MIN; }},
      {"priority", [](auto& hello) { hello.priority = 1001; }},
      {"sm_count", [](auto& hello) { hello.sm_count = UINT32_MAX; }},
      {"threads_per_sm", [](auto& hello) { hello.threads_per_sm = UINT32_MAX; }},
      {"regs_per_sm", [](auto& hello) { hello.regs_per_sm = UINT32_MAX; }},
      {"smem_per_sm_bytes", [](auto& hello) { hello.smem_per_sm_bytes = UINT32_MAX; }},
      {"blocks_per_sm", [](auto& hello) { hello.blocks_per_sm = UINT32_MAX; }},
      {"tenant name", [](auto& hello) { hello.tenant[0] = '\0'; }},
      {"tenant name", [](auto& hello) { hello.tenant[1] = '\n'; }},
      {"tenant name", [](auto& hello) { hello.tenant[0] = '\xc3'; }},
      {"tenant name", [](auto& hello) { memset(hello.tenant, 'x', sizeof hello.tenant); }},
      {"executable", [](auto& hello) { memset(hello.executable, 'x', sizeof hello.executable); }},
  };
  for (const auto& row : rows) {
    const auto request = check(row.change);
    ASSERT_FALSE(request.ok()) << row.field;
    EXPECT_EQ(request.error().code, EINVAL);
    EXPECT_NE(request.error().message.find(row.field), std::string::npos)
        << request.error().message;
  }
}

TEST(HelloCheck, UnprintableBytesOfAPathAreReplaced) {
  const auto request = check([](auto& hello) { strcpy(hello.executable, "/tmp/a\n\xff"); });
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->executable, "/tmp/a??");
}

TEST(HelloCheck, AnotherVersionIsRefusedWithBothNumbers) {
  const auto request = check([](auto& hello) { hello.header.version = 31; });
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().code, EPROTO);
  EXPECT_NE(request.error().message.find("31"), std::string::npos);
}

TEST(HelloCheck, AnotherSizeIsRefused) {
  const abi::HelloMessage hello = good_hello();
  EXPECT_FALSE(check_hello(&hello, sizeof hello - 1).ok());
  EXPECT_FALSE(check_hello(&hello, 0).ok());
}

}  // namespace
}  // namespace gacer::daemon
