// SPDX-License-Identifier: Apache-2.0
// The client's buffers: asked for when a record comes and there is none, handed back when full (by
// a thread of ours, as CUPTI does) or at a flush. The client's functions are called without locks,
// so they may call CUPTI. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "runtime/simdevice/cupti/cupti_api.h"

namespace gacer::simcupti {

class ActivityBuffers {
 public:
  void set_functions(CUpti_BuffersCallbackRequestFunc request,
                     CUpti_BuffersCallbackCompleteFunc complete);
  bool has_functions();

  // Drops, and counts, the record when the client gives no buffer or one that is too small.
  void append(const void* record, size_t bytes);
  // Hands back all that holds records.
  void flush();
  // Flushes by itself that often; 0: not. `before` is called first, from that thread.
  void flush_every(uint32_t period_ms, void (*before)());
  size_t take_dropped();

 private:
  struct Buffer {
    uint8_t* bytes = nullptr;
    size_t size = 0;
    size_t used = 0;
    size_t most_records = 0;
    size_t records = 0;
    bool room_for(size_t more) const {
      return bytes != nullptr && size - used >= more &&
             (most_records == 0 || records < most_records);
    }
  };
  // The lock is held and released meanwhile.
  bool make_room(std::unique_lock<std::mutex>& lock, size_t bytes);
  void retire_current();
  void hand_back(Buffer buffer);
  void deliver_full();
  void start_worker();
  void work();

  std::mutex mutex_;
  std::mutex delivery_;  // one buffer is handed back at a time
  std::condition_variable wake_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  Buffer current_;
  std::deque<Buffer> full_;
  size_t dropped_ = 0;
  uint32_t period_ms_ = 0;
  void (*before_flush_)() = nullptr;
  bool worker_runs_ = false;
};

}  // namespace gacer::simcupti
