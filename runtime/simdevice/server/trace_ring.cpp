// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/trace_ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace gacer::simdevice {

Result<TraceRing> TraceRing::create() {
  UniqueFd fd(::memfd_create("simgpu-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), sizeof(TracePage)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Error{errno, std::string("cannot make a trace ring: ") + std::strerror(errno)};
  void* memory =
      ::mmap(nullptr, sizeof(TracePage), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED)
    return Error{errno, std::string("cannot map a trace ring: ") + std::strerror(errno)};
  return TraceRing(std::move(fd), static_cast<TracePage*>(memory));
}

TraceRing::TraceRing(TraceRing&& other) noexcept
    : fd_(std::move(other.fd_)),
      page_(std::exchange(other.page_, nullptr)),
      written_(other.written_),
      lost_(other.lost_) {}

TraceRing::~TraceRing() {
  if (page_ != nullptr) ::munmap(page_, sizeof(TracePage));
}

void TraceRing::add(const TraceRecord& record) {
  // Acquire pairs with the client's release: it has copied what it took.
  const uint64_t untaken = written_ - page_->taken.load(std::memory_order_acquire);
  if (untaken >= kTraceRecords) {
    page_->lost.store(++lost_, std::memory_order_relaxed);  // a figure, orders nothing
    return;
  }
  page_->records[written_ % kTraceRecords] = record;
  page_->written.store(++written_, std::memory_order_release);  // pairs with the client's acquire
}

}  // namespace gacer::simdevice
