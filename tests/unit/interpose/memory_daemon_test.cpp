// SPDX-License-Identifier: Apache-2.0
// What a daemon is asked and told about memory, by device.
#include <unistd.h>

#include <string>

#include "interpose/memory_view.h"
#include "tests/support/standin_daemon/standin_daemon.h"
#include "tests/unit/interpose/memory_fixture.h"

namespace gacer::interpose {
namespace {

using test::enter_device;
using test::kMiB;
using test::StandInClient;
using test::StandInDaemon;
using test::StandInOptions;

class MemoryDaemonTest : public test::MemoryFixture {
 protected:
  MemoryDaemonTest() : MemoryFixture(2) {
    shim().session.publish(nullptr);
    setenv("GACER_SOCKET", path_.c_str(), 1);
    setenv("GACER_TENANT", "unit", 1);
    shim().session.after_fork_in_child();  // reads the environment again
    options_.memory_limit_bytes = 100 * kMiB;
  }
  ~MemoryDaemonTest() override {
    shim().session.after_fork_in_child();
    unsetenv("GACER_TENANT");
  }
  CUresult alloc_on(int device, CUdeviceptr& pointer, uint64_t bytes) {
    enter_device(device);
    return alloc(pointer, bytes);
  }
  template <typename Condition>
  bool eventually(const Condition& condition) {
    for (int i = 0; i < 20'000; ++i) {
      if (condition()) return true;
      usleep(1'000);
    }
    return false;
  }

  static constexpr abi::DeviceUuid kOne = {1};
  static constexpr abi::DeviceUuid kTwo = {2};
  std::string path_ = testing::TempDir() + "/gacer-memory-" + std::to_string(getpid()) + ".sock";
  StandInOptions options_;
  CUdeviceptr a_ = 0;
  CUdeviceptr b_ = 0;
};

TEST_F(MemoryDaemonTest, CON_09_requests_carry_the_uuid_of_the_allocations_device) {
  StandInDaemon daemon(path_);
  ASSERT_TRUE(daemon.start(options_));
  EXPECT_EQ(alloc_on(1, a_, 70 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(alloc_on(0, b_, 90 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(daemon.memory_used_on(kTwo), 70 * kMiB);
  EXPECT_EQ(daemon.memory_used_on(kOne), 90 * kMiB);
  EXPECT_EQ(gacer_hook_cuMemFree_v2(a_), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([&] { return daemon.memory_used_on(kTwo) == 0; }));
  EXPECT_EQ(daemon.memory_used_on(kOne), 90 * kMiB);
}

TEST_F(MemoryDaemonTest,
       given_a_daemon_that_went_then_limits_hold_and_the_next_hears_of_each_device) {
  {
    StandInDaemon first(path_);
    ASSERT_TRUE(first.start(options_));
    EXPECT_EQ(alloc_on(0, a_, 70 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(alloc_on(1, b_, 80 * kMiB), CUDA_SUCCESS);
    first.stop();
  }
  CUdeviceptr more = 0;
  EXPECT_EQ(alloc_on(0, more, 40 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc_on(1, more, 40 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc_on(1, more, 20 * kMiB), CUDA_SUCCESS);
  StandInDaemon next(path_);
  ASSERT_TRUE(next.start(options_));
  EXPECT_TRUE(eventually([&] {
    attached();
    return next.memory_used() == 170 * kMiB;
  }));
  EXPECT_EQ(next.memory_used_on(kOne), 70 * kMiB);
  EXPECT_EQ(next.memory_used_on(kTwo), 100 * kMiB);
}

TEST_F(MemoryDaemonTest, MEM_04_overhead_is_told_apart) {
  test::fake_memory().mps = false;
  StandInDaemon daemon(path_);
  ASSERT_TRUE(daemon.start(options_));
  CUcontext context = nullptr;
  EXPECT_EQ(gacer_hook_cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
  EXPECT_GT(daemon.overhead(), 100 * kMiB);
  EXPECT_EQ(daemon.memory_used(), 0u);
  EXPECT_EQ(gacer_hook_cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_TRUE(eventually([&] { return daemon.overhead() == 0; }));
}

TEST_F(MemoryDaemonTest, CON_04_a_page_edited_by_its_program_does_not_end_the_asking) {
  StandInDaemon daemon(path_);
  ASSERT_TRUE(daemon.start(options_));
  ASSERT_NE(attached(), nullptr);
  daemon.with_client(0,
                     [](StandInClient& client) { client.segment().gate.memory_limit_bytes = 0; });
  EXPECT_EQ(alloc_on(0, a_, 101 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc_on(0, a_, 100 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(daemon.memory_used(), 100 * kMiB);
}

TEST_F(MemoryDaemonTest, MEM_19_the_view_for_other_libraries_counts_the_whole_tenant) {
  StandInDaemon daemon(path_);
  ASSERT_TRUE(daemon.start(options_));
  EXPECT_EQ(alloc_on(1, a_, 10 * kMiB), CUDA_SUCCESS);
  daemon.add_memory(30 * kMiB, kTwo);  // another process
  uint64_t total = 0;
  uint64_t used = 0;
  EXPECT_EQ(memory_view(kTwo.data(), &total, &used), 0);
  EXPECT_EQ(total, 100 * kMiB);
  EXPECT_EQ(used, 40 * kMiB);
  const abi::DeviceUuid stranger = {99};
  EXPECT_EQ(memory_view(stranger.data(), &total, &used), kMemoryUnknown);
  EXPECT_EQ(memory_view(nullptr, &total, &used), kMemoryUnknown);
}

}  // namespace
}  // namespace gacer::interpose
