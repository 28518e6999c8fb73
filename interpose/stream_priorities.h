// SPDX-License-Identifier: Apache-2.0
// The priorities of a tenant's streams. CUDA's numbers: the smaller, the more urgent.
//
// The device's levels are split in two: urgent tenants get the more urgent half, the others the
// rest, so that each of the former goes before each of the latter. Within its half a tenant's
// streams keep the order that the program gave them, as far as the levels reach. The program reads
// back the number that the device alone would have given it. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/cuda_api.h"
#include "interpose/flat_map.h"
#include "interpose/spin_lock.h"

namespace gacer::interpose {

struct PriorityRange {  // as cuCtxGetStreamPriorityRange reports it: greatest <= least
  int least = 0;
  int greatest = 0;
};

// `asked`: the daemon's word, below 0 urgent, else not.
int priority_in_half(int own, int32_t asked, PriorityRange range);

class StreamPriorities {
 public:
  // What to create a stream with for which the program asks for priority `own`. False: as it asks.
  bool map(int own, int& priority) const;

  void remember(CUstream stream, int own);
  void forget(CUstream stream);
  // False: the driver knows it.
  bool own_priority(CUstream stream, int& own);

  // In a fork child, before any other thread exists.
  void reset();

 private:
  SpinLock lock_;
  FlatMap own_;  // stream -> the program's number, as 32 bits
  std::atomic<uint64_t> count_{0};
};

}  // namespace gacer::interpose
