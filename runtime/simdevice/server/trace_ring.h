// SPDX-License-Identifier: Apache-2.0
// The ring through which one client learns when its operations ran (TracePage in sim_messages.h).
// The client may write anything into it: what counts is kept here.
#pragma once

#include <cstdint>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {

class TraceRing {
 public:
  static Result<TraceRing> create();
  TraceRing(TraceRing&& other) noexcept;
  TraceRing& operator=(TraceRing&&) = delete;
  ~TraceRing();

  int fd() const { return fd_.get(); }
  const TracePage* page() const { return page_; }
  // Loses the record, and counts that, when the client has not taken enough.
  void add(const TraceRecord& record);

 private:
  TraceRing(UniqueFd fd, TracePage* page) : fd_(std::move(fd)), page_(page) {}
  UniqueFd fd_;
  TracePage* page_;
  uint64_t written_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace gacer::simdevice
