// SPDX-License-Identifier: Apache-2.0
#include "interpose/stream_priorities.h"

#include <algorithm>

#include "interpose/driver.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

bool read_range(PriorityRange& range) {
  return driver().cuCtxGetStreamPriorityRange(&range.least, &range.greatest) == CUDA_SUCCESS &&
         range.greatest <= range.least;
}

}  // namespace

int priority_in_half(int own, int32_t asked, PriorityRange range) {
  const int levels = range.least - range.greatest + 1;
  const int low_levels = levels / 2;
  const bool urgent = asked < 0;
  const int least = urgent ? range.least - low_levels : range.least;
  const int greatest = urgent || low_levels == 0 ? range.greatest : range.least - low_levels + 1;
  const int rise = range.least - std::clamp(own, range.greatest, range.least);
  return std::max(least - rise, greatest);
}

bool StreamPriorities::map(int own, int& priority) const {
  Attachment* attachment = attached();
  if (attachment == nullptr) return false;
  const int32_t asked = attachment->segment.gate.stream_priority.load(kRelaxed);
  PriorityRange range;
  if (asked == abi::kPriorityKeep || !read_range(range)) return false;
  priority = priority_in_half(own, asked, range);
  return true;
}

void StreamPriorities::remember(CUstream stream, int own) {
  PriorityRange range;
  if (read_range(range)) own = std::clamp(own, range.greatest, range.least);
  const SpinGuard guard(lock_);
  own_.set(reinterpret_cast<uint64_t>(stream), static_cast<uint32_t>(own));
  count_.store(own_.size(), kRelaxed);
}

void StreamPriorities::forget(CUstream stream) {
  if (count_.load(kRelaxed) == 0) return;
  uint64_t own = 0;
  const SpinGuard guard(lock_);
  own_.take(reinterpret_cast<uint64_t>(stream), own);
  count_.store(own_.size(), kRelaxed);
}

bool StreamPriorities::own_priority(CUstream stream, int& own) {
  if (count_.load(kRelaxed) == 0) return false;
  const SpinGuard guard(lock_);
  const uint64_t* found = own_.find(reinterpret_cast<uint64_t>(stream));
  if (found != nullptr) own = static_cast<int>(static_cast<uint32_t>(*found));
  return found != nullptr;
}

void StreamPriorities::reset() {
  lock_.unlock();
  own_.clear();
  count_.store(0, kRelaxed);
}

}  // namespace gacer::interpose
