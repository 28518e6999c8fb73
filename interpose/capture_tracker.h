// SPDX-License-Identifier: Apache-2.0
// Which streams are being captured into a graph. Launches there are not work yet: not held, charged
// or marked. While any capture is under way the shim makes no event or query call at all: in the
// global capture mode these would break the program's capture. Thread-safe; costs one load while
// nothing is captured.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/flat_map.h"
#include "interpose/spin_lock.h"
#include "interpose/stream_table.h"

namespace gacer::interpose {

class CaptureTracker {
 public:
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  void begun(StreamRef stream);
  void ended(StreamRef stream);
  // The stream is gone, with its capture if it had one.
  void forget(uint64_t key);

  // Also true for streams that joined a capture through an event. Asks the driver only while any().
  bool is_capturing(StreamRef stream);

  // In a fork child, before any other thread exists.
  void reset();

 private:
  SpinLock lock_;
  FlatMap streams_;  // key -> 1
  std::atomic<uint64_t> count_{0};
};

}  // namespace gacer::interpose
