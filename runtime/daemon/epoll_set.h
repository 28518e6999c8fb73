// SPDX-License-Identifier: Apache-2.0
// epoll with keys in place of pointers and a nanosecond deadline. A closed descriptor leaves the
// set by itself. Not thread-safe. Source: epoll(7), ppoll(2).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace gacer::daemon {

class EpollSet {
 public:
  static Result<EpollSet> create();

  // Readable (level-triggered) or hung up.
  Status add(int fd, uint64_t key);

  // Keys that are ready, at most 64 a call; empty at `deadline_ns` (CLOCK_MONOTONIC; UINT64_MAX:
  // none) or when a signal came.
  void wait(uint64_t deadline_ns, std::vector<uint64_t>& ready);

 private:
  UniqueFd epoll_;
};

}  // namespace gacer::daemon
