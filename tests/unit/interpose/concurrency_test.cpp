// SPDX-License-Identifier: Apache-2.0
// Many threads launch, create and destroy streams while a pretended daemon changes its mind; for
// the thread sanitizer, and for the one thing that must hold at the end: all that was submitted has
// been reported.
#include <bit>
#include <thread>
#include <vector>

#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;

class ConcurrencyTest : public test::LaunchFixture {};

void launch_in_a_loop(uintptr_t number, int rounds) {
  const CUstream mine = test::stream_number(100 + number);
  const CUstream shared = test::stream_number(7);
  for (int i = 0; i < rounds; ++i) {
    const CUstream stream = i % 3 == 0 ? shared : mine;
    const auto blocks = static_cast<unsigned>(i % 50 + 1);
    gacer_hook_cuLaunchKernel(test::function_number(1 + i % 4), blocks, 1, 1, 100, 1, 1, 0, stream,
                              nullptr, nullptr);
    if (i % 64 == 0) gacer_hook_cuStreamSynchronize(mine);
    if (i % 200 == 0) gacer_hook_cuStreamDestroy_v2(mine);
  }
}

TEST_F(ConcurrencyTest,
       given_threads_streams_and_changing_words_then_nothing_is_lost_or_left_in_flight) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3'000;
  for (uintptr_t i = 1; i <= 4; ++i)
    shim().kernels.learn_function(test::function_number(i), 1, i % 2 == 0 ? "even" : "odd");
  segment().gate.max_wait_ns = 200'000;
  std::atomic<bool> done{false};
  std::thread daemon([&] {
    shm::LaunchEntry entry;
    for (uint32_t i = 0; !done.load(); ++i) {
      constexpr GateMode kModes[] = {GateMode::kUngated, GateMode::kWindow, GateMode::kClosed};
      test::decide(segment(), kModes[i % 3], 100'000, i % 2 == 0, i % 4);
      while (reader_.pop(entry, 1))
        segment().costs.cost_ns[entry.cost_slot % abi::kCostSlots] = 3'000;
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> tenants;
  for (uintptr_t i = 0; i < kThreads; ++i) tenants.emplace_back(&launch_in_a_loop, i, kRounds);
  for (std::thread& tenant : tenants) tenant.join();
  done = true;
  daemon.join();

  EXPECT_EQ(fake().launches, uint64_t{kThreads} * kRounds);
  EXPECT_EQ(progress().launches + progress().alone_launches, uint64_t{kThreads} * kRounds);
  EXPECT_EQ(attachment_->reserved_ns, 0u);
  EXPECT_EQ(progress().waiting_threads, 0u);
  test::decide(segment(), GateMode::kUngated, 0, false, 1);
  launch(test::stream_number(7));
  gacer_hook_cuCtxSynchronize();
  for (uint64_t left = attachment_->streams.used(); left != 0; left &= left - 1) {
    const abi::StreamSlot& slot = segment().streams[std::countr_zero(left)];
    EXPECT_EQ(slot.completed_cost_ns, slot.submitted_cost_ns);
  }
}

}  // namespace
}  // namespace gacer::interpose
