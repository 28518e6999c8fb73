// SPDX-License-Identifier: Apache-2.0
// The shim's half of the handshake against a stand-in daemon in this process.
#include "interpose/session.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/standin_daemon/standin_daemon.h"
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;
using test::StandInClient;
using test::StandInDaemon;
using test::StandInFault;
using test::StandInOptions;

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    test::reset_shim();
    setenv("GACER_SOCKET", path_.c_str(), 1);
    setenv("GACER_TENANT", "unit", 1);
  }
  void TearDown() override {
    shim().session.after_fork_in_child();
    unsetenv("GACER_TENANT");
  }
  CUresult launch() {
    return gacer_hook_cuLaunchKernel(test::function_number(1), 1, 1, 1, 32, 1, 1, 0,
                                     test::stream_number(1), nullptr, nullptr);
  }
  bool attached_now() { return shim().session.current() != nullptr; }
  // The retry delay is real time; forgetting the last attempt stands for its passing.
  void let_retry() {
    if (!attached_now()) shim().session.after_fork_in_child();
  }
  template <typename Condition>
  bool eventually(const Condition& condition) {
    for (int i = 0; i < 20'000; ++i) {
      if (condition()) return true;
      usleep(1'000);
    }
    return false;
  }

  std::string path_ = testing::TempDir() + "/gacer-session-" + std::to_string(getpid()) + ".sock";
  StandInDaemon daemon_{path_};
};

TEST_F(SessionTest, given_a_daemon_when_launching_first_then_the_shim_says_who_it_is_and_attaches) {
  setenv("GACER_CLASS", "latency", 1);
  setenv("GACER_WEIGHT", "3", 1);
  ASSERT_TRUE(daemon_.start({}));
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  ASSERT_TRUE(attached_now());
  daemon_.with_client(0, [&](StandInClient& client) {
    EXPECT_STREQ(client.hello.tenant, "unit");
    EXPECT_EQ(client.hello.tenant_class, static_cast<uint32_t>(abi::TenantClass::kLatency));
    EXPECT_EQ(client.hello.weight, 3u);
    EXPECT_EQ(client.hello.sm_count, 100u);
    EXPECT_EQ(client.hello.device_memory_bytes, fake().device_bytes);
    EXPECT_NE(client.hello.start_time_ticks, 0u);
    EXPECT_EQ(client.segment().progress.launches, 1u);
  });
  EXPECT_NE(fcntl(shim().session.current()->socket, F_GETFD) & FD_CLOEXEC, 0);
  unsetenv("GACER_CLASS");
  unsetenv("GACER_WEIGHT");
}

TEST_F(SessionTest, given_no_device_yet_then_no_attachment_is_made) {
  fake().init_result = CUDA_ERROR_NOT_INITIALIZED;
  ASSERT_TRUE(daemon_.start({}));
  launch();
  EXPECT_FALSE(attached_now());
}

class FaultTest : public SessionTest, public testing::WithParamInterface<StandInFault> {};

TEST_P(FaultTest, given_a_daemon_at_fault_then_launches_pass_and_one_line_says_why) {
  StandInOptions options;
  options.fault = GetParam();
  ASSERT_TRUE(daemon_.start(options));
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(launch(), CUDA_SUCCESS);
    let_retry();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(fake().launches, 3u);
  EXPECT_FALSE(attached_now());
  // The one line of this process may have been used up by an earlier case.
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 1) << said;
}
INSTANTIATE_TEST_SUITE_P(All, FaultTest,
                         testing::Values(StandInFault::kRefuse, StandInFault::kSegmentVersion,
                                         StandInFault::kUnsealed, StandInFault::kShortSegment,
                                         StandInFault::kWelcomeVersion, StandInFault::kNoFds,
                                         StandInFault::kSilent, StandInFault::kHangUp));

TEST_F(SessionTest, given_a_socket_file_without_a_daemon_then_launches_pass) {
  ASSERT_TRUE(daemon_.start({}));
  daemon_.stop();
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_FALSE(attached_now());
}

TEST_F(SessionTest, given_a_daemon_that_ends_then_the_shim_detaches_and_attaches_to_the_next_one) {
  StandInOptions options;
  options.mode = GateMode::kClosed;
  options.max_wait_ns = 5'000'000'000;
  ASSERT_TRUE(daemon_.start({}));
  launch();
  ASSERT_TRUE(attached_now());
  daemon_.set_words(options);
  std::thread tenant([&] { EXPECT_EQ(launch(), CUDA_SUCCESS); });  // held, until the daemon is gone
  usleep(20'000);
  daemon_.stop();
  tenant.join();
  EXPECT_FALSE(attached_now());
  ASSERT_TRUE(daemon_.start({}));
  let_retry();
  launch();
  EXPECT_TRUE(attached_now());
  EXPECT_EQ(daemon_.welcomed(), 2);
}

TEST_F(SessionTest, given_a_lone_tenant_when_the_daemon_ends_then_that_is_noticed_without_a_wait) {
  ASSERT_TRUE(daemon_.start({}));
  launch();
  daemon_.stop();
  EXPECT_TRUE(eventually([&] {
    launch();
    return !attached_now();
  }));
}

TEST_F(SessionTest, given_a_daemon_that_stops_beating_then_launches_are_no_longer_held) {
  StandInOptions options;
  options.mode = GateMode::kClosed;
  options.max_wait_ns = 9'000'000'000;
  ASSERT_TRUE(daemon_.start({}));
  launch();
  ASSERT_TRUE(attached_now());
  options.beating = false;
  daemon_.set_words(options);
  // Held at first, then released for want of a beat; not for the bound of nine seconds.
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  abi::ProgressWords& progress = shim().session.current()->segment.progress;
  EXPECT_EQ(progress.deadline_releases, 0u);
  const uint64_t waits = progress.waits;
  launch();
  EXPECT_EQ(progress.waits, waits);
}

TEST_F(SessionTest,
       given_a_fork_then_the_child_attaches_by_itself_and_leaves_the_parents_words_alone) {
  ASSERT_TRUE(daemon_.start({}));
  launch();
  ASSERT_EQ(daemon_.welcomed(), 1);
  const pid_t child = fork();
  if (child == 0) {
    const bool detached = !attached_now();
    launch();
    _exit(detached && attached_now() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(daemon_.welcomed(), 2);
  daemon_.with_client(0, [](StandInClient& client) {
    EXPECT_EQ(client.segment().progress.launches, 1u);
    EXPECT_FALSE(client.gone);
  });
  daemon_.with_client(
      1, [](StandInClient& client) { EXPECT_EQ(client.segment().progress.launches, 1u); });
  EXPECT_TRUE(eventually([&] { return daemon_.live_clients() == 1; }));
}

// The name that /proc/self/maps gives to the mapping at that address.
std::string mapping_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0;
    unsigned long end = 0;
    int name = 0;
    sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %*s %n", &start, &end, &name);
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    if (start <= wanted && wanted < end) return line.substr(static_cast<size_t>(name));
  }
  return "none";
}

class ManyAttachments : public SessionTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(ManyAttachments, PROC_09_given_hundreds_of_daemons_then_old_segments_are_given_back) {
  StandInOptions options;
  options.mode = GateMode::kWindow;
  options.window_ns = 1'000'000'000;
  options.mark_every = GetParam();
  ASSERT_TRUE(daemon_.start(options));
  std::vector<Attachment*> older;
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(launch(), CUDA_SUCCESS);
    ASSERT_TRUE(attached_now()) << "at attachment " << i;
    older.push_back(shim().session.current());
    shim().session.detach(*older.back());
    shim().session.retry_at_once();
  }
  launch();
  EXPECT_NE(mapping_at(&shim().session.current()->segment).find("memfd"), std::string::npos);
  for (const Attachment* attachment : older) {
    // What the GPU was given it may still write to; all else is private zeros.
    const bool gpu_knows = GetParam() != 0;
    EXPECT_EQ(mapping_at(&attachment->segment).find("memfd") != std::string::npos, gpu_knows);
    EXPECT_EQ(mapping_at(&attachment->segment.ring), "");
    EXPECT_EQ(attachment->segment.ring_control.tail.load(), 0u);
    EXPECT_EQ(mapping_at(attachment->board), "");
  }
}
INSTANTIATE_TEST_SUITE_P(WithAndWithoutMarks, ManyAttachments, testing::Values(0u, 1u));

TEST_F(SessionTest, given_a_host_that_closes_our_socket_then_nothing_of_its_own_is_touched) {
  ASSERT_TRUE(daemon_.start({}));
  launch();
  const int socket = shim().session.current()->socket;
  close(socket);
  const int theirs = open("/dev/null", O_RDONLY);
  ASSERT_EQ(dup2(theirs, socket), socket);
  Attachment& attachment = *shim().session.current();
  EXPECT_TRUE(shim().session.daemon_gone(attachment));
  EXPECT_FALSE(attached_now());
  EXPECT_GE(fcntl(socket, F_GETFD), 0);  // still theirs, still open
  close(socket);
  close(theirs);
}

class QuotaTest : public SessionTest {
 protected:
  void start_with_limit(uint64_t bytes) {
    options_.memory_limit_bytes = bytes;
    ASSERT_TRUE(daemon_.start(options_));
  }
  CUresult alloc(CUdeviceptr& pointer, size_t bytes) {
    return gacer_hook_cuMemAlloc_v2(&pointer, bytes);
  }
  StandInOptions options_;
  CUdeviceptr a_ = 0;
  CUdeviceptr b_ = 0;
};

TEST_F(QuotaTest, given_a_limit_then_the_daemon_is_asked_and_told_of_frees) {
  start_with_limit(1'000);
  EXPECT_EQ(alloc(a_, 700), CUDA_SUCCESS);
  EXPECT_EQ(daemon_.memory_used(), 700u);
  EXPECT_EQ(alloc(b_, 400), CUDA_ERROR_OUT_OF_MEMORY);
  gacer_hook_cuMemFree_v2(a_);
  EXPECT_TRUE(eventually([&] { return daemon_.memory_used() == 0; }));
  EXPECT_EQ(alloc(b_, 400), CUDA_SUCCESS);
}

TEST_F(QuotaTest, given_the_driver_refuses_then_the_reservation_is_given_back) {
  start_with_limit(1'000);
  fake().alloc_result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(alloc(a_, 700), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(eventually([&] { return daemon_.memory_used() == 0; }));
}

TEST_F(QuotaTest, given_a_limit_that_comes_later_then_older_allocations_count) {
  start_with_limit(0);
  EXPECT_EQ(alloc(a_, 700), CUDA_SUCCESS);
  EXPECT_EQ(daemon_.memory_used(), 0u);
  options_.memory_limit_bytes = 1'000;
  daemon_.set_words(options_);
  EXPECT_EQ(alloc(b_, 400), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(alloc(b_, 300), CUDA_SUCCESS);
  EXPECT_EQ(daemon_.memory_used(), 1'000u);
}

TEST_F(QuotaTest, given_another_process_of_the_tenant_then_memory_info_counts_it) {
  start_with_limit(1'000);
  EXPECT_EQ(alloc(a_, 100), CUDA_SUCCESS);
  daemon_.add_memory(500);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  gacer_hook_cuMemGetInfo_v2(&free_bytes, &total_bytes);
  EXPECT_EQ(free_bytes, 400u);
  EXPECT_EQ(total_bytes, 1'000u);
}

TEST_F(QuotaTest,
       given_a_daemon_that_went_then_the_limit_holds_and_the_next_one_hears_what_is_in_use) {
  start_with_limit(1'000);
  EXPECT_EQ(alloc(a_, 700), CUDA_SUCCESS);
  daemon_.stop();
  EXPECT_EQ(alloc(b_, 400), CUDA_ERROR_OUT_OF_MEMORY);
  StandInDaemon next(path_);
  ASSERT_TRUE(next.start(options_));
  EXPECT_TRUE(eventually([&] {
    launch();
    return attached_now();
  }));
  next.with_client(
      0, [](StandInClient& client) { EXPECT_EQ(client.hello.memory_in_use_bytes, 700u); });
  gacer_hook_cuMemFree_v2(a_);
  EXPECT_TRUE(eventually([&] { return next.memory_used() == 0; }));
}

}  // namespace
}  // namespace gacer::interpose
