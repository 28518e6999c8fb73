// SPDX-License-Identifier: Apache-2.0
// What printf in kernels prints: the server appends it to a file, and this process writes it to its
// standard output where the programming guide says that it appears: when it synchronises.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>

#include "runtime/base/unique_fd.h"

namespace gacer::simdriver {

class ServerLink;

class DevicePrint {
 public:
  // Before the launch of a kernel that may print: asks the server for the file, once.
  void expect(ServerLink& link);
  // Writes what has come since the last call. Cheap when no kernel prints.
  void flush();

 private:
  std::atomic<bool> expected_{false};  // set after file_, with release: flush() acquires it
  std::mutex mutex_;                   // guards all below
  UniqueFd file_;
  off_t taken_ = 0;
};

}  // namespace gacer::simdriver
