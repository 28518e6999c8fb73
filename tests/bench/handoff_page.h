// SPDX-License-Identifier: Apache-2.0
// What the two processes of the hand-off benchmark tell each other beside the gate.
#pragma once

#include <atomic>
#include <cstdint>

namespace gacer::bench {

struct alignas(64) HandoffPage {
  std::atomic<uint32_t> round;  // daemon: the gate is shut, launch number `round` may come
  alignas(64) std::atomic<uint32_t> arrived;  // tenant: about to launch
  std::atomic<uint32_t> done;                 // tenant: through_ns is set
  std::atomic<uint64_t> through_ns;           // tenant: the launch has returned
  alignas(64) std::atomic<uint32_t> futex;    // of the bare wake-up
};

}  // namespace gacer::bench
