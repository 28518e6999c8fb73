// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/device_print.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/simdevice/driver/server_link.h"

namespace gacer::simdriver {

void DevicePrint::expect(ServerLink& link) {
  if (expected_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (expected_.load(std::memory_order_relaxed)) return;
  file_ = link.request(make_message<simdevice::SimHeader>(simdevice::SimType::kPrintBuffer)).fd;
  // Release pairs with the acquire in flush(): it sees file_.
  expected_.store(true, std::memory_order_release);
}

void DevicePrint::flush() {
  if (!expected_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  if (!file_.valid()) return;
  char text[4096];
  ssize_t bytes = 0;
  const off_t begin = taken_;
  while ((bytes = pread(file_.get(), text, sizeof text, taken_)) > 0) {
    fwrite(text, 1, static_cast<size_t>(bytes), stdout);
    taken_ += bytes;
  }
  // What was read needs no memory any more.
  constexpr off_t kPage = 4096;
  const off_t from = begin / kPage * kPage, to = taken_ / kPage * kPage;
  if (to > from)
    fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
}

}  // namespace gacer::simdriver
