// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/activity_buffers.h"

#include <signal.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace gacer::simcupti {
namespace {

constexpr size_t kRecordAlignment = 8;  // ACTIVITY_RECORD_ALIGNMENT

}  // namespace

void ActivityBuffers::set_functions(CUpti_BuffersCallbackRequestFunc request,
                                    CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(mutex_);
  request_ = request;
  complete_ = complete;
}

bool ActivityBuffers::has_functions() {
  const std::lock_guard lock(mutex_);
  return request_ != nullptr;
}

void ActivityBuffers::retire_current() {
  if (current_.bytes != nullptr) full_.push_back(std::exchange(current_, Buffer{}));
}

bool ActivityBuffers::make_room(std::unique_lock<std::mutex>& lock, size_t bytes) {
  if (current_.room_for(bytes)) return true;
  retire_current();
  if (!full_.empty()) start_worker();
  wake_.notify_one();
  const auto request = request_;
  if (request == nullptr) return false;
  Buffer fresh;
  lock.unlock();
  request(&fresh.bytes, &fresh.size, &fresh.most_records);
  lock.lock();
  // Another thread may have brought one meanwhile: its records go first.
  retire_current();
  current_ = fresh;
  return current_.room_for(bytes);
}

void ActivityBuffers::append(const void* record, size_t bytes) {
  bytes = (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
  std::unique_lock lock(mutex_);
  if (!make_room(lock, bytes)) {
    ++dropped_;
    return;
  }
  memcpy(current_.bytes + current_.used, record, bytes);
  current_.used += bytes;
  ++current_.records;
}

void ActivityBuffers::hand_back(Buffer buffer) {
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  {
    const std::lock_guard lock(mutex_);
    complete = complete_;
  }
  if (complete != nullptr) complete(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
}

void ActivityBuffers::deliver_full() {
  const std::lock_guard one_at_a_time(delivery_);
  for (;;) {
    Buffer buffer;
    {
      const std::lock_guard lock(mutex_);
      if (full_.empty()) return;
      buffer = full_.front();
      full_.pop_front();
    }
    hand_back(buffer);
  }
}

void ActivityBuffers::flush() {
  {
    const std::lock_guard lock(mutex_);
    if (current_.used > 0) retire_current();
  }
  deliver_full();
}

void ActivityBuffers::start_worker() {
  if (std::exchange(worker_runs_, true)) return;
  // The program's signals are not ours to handle.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread([this] { work(); }).detach();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void ActivityBuffers::flush_every(uint32_t period_ms, void (*before)()) {
  const std::lock_guard lock(mutex_);
  period_ms_ = period_ms;
  before_flush_ = before;
  if (period_ms > 0) start_worker();
  wake_.notify_one();
}

void ActivityBuffers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    bool periodic = false;
    if (full_.empty() && period_ms_ == 0) {
      wake_.wait(lock);
    } else if (full_.empty()) {
      periodic =
          wake_.wait_for(lock, std::chrono::milliseconds(period_ms_)) == std::cv_status::timeout;
    }
    const auto before = before_flush_;
    lock.unlock();
    if (periodic && before != nullptr) before();
    if (periodic) {
      flush();
    } else {
      deliver_full();
    }
    lock.lock();
  }
}

size_t ActivityBuffers::take_dropped() {
  const std::lock_guard lock(mutex_);
  return std::exchange(dropped_, 0);
}

}  // namespace gacer::simcupti
