// SPDX-License-Identifier: Apache-2.0
// Driver functions that the shim has no hook for, though they launch or allocate by their names.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/spin_lock.h"
#include "runtime/abi/segment_layout.h"

namespace gacer::interpose {

// A few rows, filled once and never freed. Thread-safe; constant-initialised.
class UnknownFunctions {
 public:
  // The forwarder's counter `calls` is read at every write_to().
  void add_forwarded(const char* name, const uint64_t* calls);
  void add_handed_out(const char* name);

  // A new attachment is told what came since the last write_to() of the one before.
  void start();
  void write_to(abi::CoverageWords& words);

  void reset();  // in a fork child, before any other thread exists
  bool empty() const { return used_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Count {
    uint64_t base = 0;  // told to earlier attachments
    uint64_t told = 0;  // base + what the present one was told
    uint64_t tell(uint64_t total);
  };
  struct Row {
    char name[abi::kUnknownNameBytes] = {};
    const uint64_t* calls = nullptr;  // NULL: not seen through a forwarder
    uint64_t handed_out = 0;
    Count told_calls, told_handed_out;
    void write_to(abi::UnknownFunction& target);
  };
  Row* find_or_add(const char* name);

  SpinLock lock_;
  std::atomic<uint32_t> used_{0};
  uint64_t beyond_ = 0;
  Count told_beyond_;
  Row rows_[abi::kUnknownFunctionRows] = {};
};

}  // namespace gacer::interpose
