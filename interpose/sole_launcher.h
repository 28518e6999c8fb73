// SPDX-License-Identifier: Apache-2.0
// As long as one thread makes all launches, its counters need no locked instructions, which would
// wait for every store before them. This is a biased lock: the first thread that enters owns it for
// free; the first other thread takes the ownership away for good, once, by asking the kernel to run
// a memory barrier on the owner (membarrier) and waiting until it is outside.
//
//   owner:   inside = 1 | compiler barrier | still the owner? -> plain updates | inside = 0
//   another: owner = several | membarrier | wait until inside == 0
//
// Where membarrier is refused nobody ever owns it. Sections are short and make no call.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/stream_table.h"

namespace gacer::interpose {

class SoleLauncher {
 public:
  // True: nobody else is or gets inside until leave(). False: use locked instructions.
  bool enter() {
    const uint64_t me = this_thread_number();
    if (owner_.load(std::memory_order_relaxed) != me) [[unlikely]]
      return claim(me);
    return enter_as(me);
  }
  void leave() { inside_.store(false, std::memory_order_release); }  // pairs with take_away()

  // Of a moment ago.
  bool is_mine() const { return owner_.load(std::memory_order_relaxed) == this_thread_number(); }

 private:
  static constexpr uint64_t kNobody = 0;
  static constexpr uint64_t kSeveral = UINT64_MAX;
  static constexpr uint64_t kTaken = UINT64_MAX - 1;  // the former owner may be inside

  bool enter_as(uint64_t me) {
    inside_.store(true, std::memory_order_relaxed);
    // For the processor the membarrier of take_away() does this.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (owner_.load(std::memory_order_relaxed) == me) [[likely]]
      return true;
    leave();
    return false;
  }
  bool claim(uint64_t me);
  void take_away();

  std::atomic<uint64_t> owner_{kNobody};
  std::atomic<bool> inside_{false};
};

}  // namespace gacer::interpose
