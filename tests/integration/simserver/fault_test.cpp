// SPDX-License-Identifier: Apache-2.0
// Failures on request: one test for each row of server/faults.def, and the two ways of asking.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/simserver/raw_client.h"
#include "tests/integration/simserver/test_kernels.h"

namespace gacer::simdevice::test {
namespace {

using ::testing::HasSubstr;

class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(client_.start(false) && other_.start(false));
    module_ = client_.load(kTestPtx).value;
    other_module_ = other_.load(kTestPtx).value;
  }
  static ReplyMsg ask(RawClient& client, std::string_view rules, bool clear = false) {
    FaultMsg message{};
    message.clear = clear ? 1 : 0;
    std::memcpy(message.rules, rules.data(), rules.size());
    return client.ask(message, SimType::kFault);
  }
  int ctl(const std::string& arguments) const {
    return std::system((std::string(SIMGPU_CTL_PATH) + " --socket " + server_.socket_path() + " " +
                        arguments + " 2>/dev/null")
                           .c_str());
  }
  static void spin(RawClient& client, uint64_t module, uint64_t turns = 1000) {
    client.launch(0, {module, kSpin, 1, 32, {turns}});
  }
  static uint32_t sticky(const RawClient& client) { return client.page()->sticky_error.load(); }
  // Model time of one launch.
  uint64_t launch_ns(uint64_t turns) {
    const uint64_t generation = ++generation_;
    client_.record(0, 0, generation);
    spin(client_, module_, turns);
    client_.record(0, 1, generation);
    EXPECT_TRUE(client_.sync(0));
    return client_.page()->events[1].device_ns.load() - client_.page()->events[0].device_ns.load();
  }

  ServerProcess server_;
  RawClient client_{server_.socket_path()};
  RawClient other_{server_.socket_path()};
  uint64_t module_ = 0, other_module_ = 0;
  uint64_t generation_ = 0;
};

TEST_F(FaultTest, OomFailsTheNthAllocationOnly) {
  ASSERT_EQ(ask(client_, "oom@2").error, 0);
  EXPECT_EQ(client_.alloc(512).error, 0);
  EXPECT_EQ(client_.alloc(512).error, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(client_.alloc(512).error, 0);
  EXPECT_EQ(other_.alloc(512).error, 0);
}

TEST_F(FaultTest, LaunchFailsTheNthLaunchOfAKernel) {
  ASSERT_EQ(ask(client_, "launch:spin@2").error, 0);
  spin(client_, module_);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(client_), 0U);
  spin(client_, module_);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(client_), static_cast<uint32_t>(CUDA_ERROR_LAUNCH_FAILED));
  spin(other_, other_module_);
  ASSERT_TRUE(other_.sync(0));
  EXPECT_EQ(sticky(other_), 0U);
}

// Both clients are of this process, which a rule of its own concerns.
TEST_F(FaultTest, IllegalEndsWithItsOwnError) {
  ASSERT_EQ(ask(client_, "illegal:sp*").error, 0);
  spin(client_, module_);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(client_), static_cast<uint32_t>(CUDA_ERROR_ILLEGAL_ADDRESS));
}

TEST_F(FaultTest, EccEndsWithItsOwnError) {
  ASSERT_EQ(ask(client_, "ecc").error, 0);
  spin(client_, module_);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(client_), static_cast<uint32_t>(CUDA_ERROR_ECC_UNCORRECTABLE));
}

TEST_F(FaultTest, StickyComesAtOnceWithTheAskedError) {
  ASSERT_EQ(ask(client_, "sticky=716").error, 0);
  EXPECT_EQ(sticky(client_), 716U);
}

TEST_F(FaultTest, SlowMultipliesTheTimeOfAKernel) {
  const uint64_t usual_ns = launch_ns(200'000);
  ASSERT_EQ(ask(client_, "slow:spin=4").error, 0);
  const uint64_t slow_ns = launch_ns(200'000);
  EXPECT_GT(slow_ns, 3 * usual_ns);
  EXPECT_LT(slow_ns, 5 * usual_ns);
  ASSERT_EQ(ask(client_, "", true).error, 0);
  EXPECT_LT(launch_ns(200'000), 2 * usual_ns);
}

TEST_F(FaultTest, HangNeverEndsUntilItsProcessIsGone) {
  const uint64_t free_before = other_.mem_info().value;
  {
    RawClient hung(server_.socket_path());
    ASSERT_TRUE(hung.start(false));
    const uint64_t module = hung.load(kTestPtx).value;
    ASSERT_EQ(ask(hung, "hang@1").error, 0);
    spin(hung, module);
    EXPECT_FALSE(hung.sync(0, 100));
  }
  spin(other_, other_module_);
  EXPECT_TRUE(other_.sync(0));
  EXPECT_TRUE(eventually([&] { return other_.mem_info().value == free_before; }));
}

TEST_F(FaultTest, ALostDeviceIsLostForAllUntilTheyHaveLeft) {
  ASSERT_EQ(ctl("fault lost"), 0);
  EXPECT_TRUE(eventually([&] {
    return sticky(client_) == static_cast<uint32_t>(CUDA_ERROR_DEVICE_UNAVAILABLE) &&
           sticky(other_) == static_cast<uint32_t>(CUDA_ERROR_DEVICE_UNAVAILABLE);
  }));
  RawClient late(server_.socket_path());
  EXPECT_EQ(late.hello().error, CUDA_ERROR_NO_DEVICE);
}

TEST_F(FaultTest, LostMayWaitForALaunch) {
  ASSERT_EQ(ask(client_, "lost@1").error, 0);
  EXPECT_EQ(sticky(client_), 0U);
  spin(client_, module_);
  EXPECT_TRUE(eventually([&] { return sticky(client_) != 0 && sticky(other_) != 0; }));
}

TEST_F(FaultTest, TheControlProgramReachesOneProcessOrAll) {
  // Both clients are of this process.
  ASSERT_EQ(ctl("--pid 1 fault oom"), 0);
  EXPECT_EQ(client_.alloc(512).error, 0);
  ASSERT_EQ(ctl("--pid " + std::to_string(::getpid()) + " fault oom"), 0);
  EXPECT_EQ(client_.alloc(512).error, CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(ctl("clear"), 0);
  EXPECT_EQ(client_.alloc(512).error, 0);
  ASSERT_EQ(ctl("fault oom@1,slow=2"), 0);
  EXPECT_EQ(other_.alloc(512).error, CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(FaultTest, WhatIsNoRuleIsExplainedAndChangesNothing) {
  for (const char* rules : {"", "nonsense", "oom@0", "oom@x", "slow=0", "slow=nan", "slow=1e9",
                            "launch:", "oom:kernel", "oom,", "launch@1,bad"}) {
    const ReplyMsg refused = ask(client_, rules);
    EXPECT_EQ(refused.error, CUDA_ERROR_INVALID_VALUE) << rules;
    EXPECT_THAT(refused.text, HasSubstr("fault")) << rules;
  }
  EXPECT_NE(ctl("fault nonsense"), 0);
  EXPECT_NE(ctl("frobnicate"), 0);
  spin(client_, module_);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(client_), 0U);
}

}  // namespace
}  // namespace gacer::simdevice::test
