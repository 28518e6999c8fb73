// SPDX-License-Identifier: Apache-2.0
// Collects what CUPTI delivers, as a profiler would.
#pragma once

#include <cuda.h>
//
#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace gacer::simcupti::test {

// One at a time. Copies all records out of the buffers it is handed.
class Recorder {
 public:
  explicit Recorder(std::initializer_list<CUpti_ActivityKind> kinds, size_t buffer_bytes = 64 << 10)
      : kinds_(kinds) {
    state() = {};
    state().buffer_bytes = buffer_bytes;
    cuptiActivityRegisterCallbacks(&request, &complete);
    for (const CUpti_ActivityKind kind : kinds_) cuptiActivityEnable(kind);
  }
  ~Recorder() {
    stop();
    cuptiActivityFlushAll(0);
  }
  void stop() {
    for (const CUpti_ActivityKind kind : kinds_) cuptiActivityDisable(kind);
  }

  // All records of type T and kind so far.
  template <typename T>
  std::vector<T> take(CUpti_ActivityKind kind) {
    cuptiActivityFlushAll(0);
    const std::lock_guard lock(state().mutex);
    std::vector<T> found;
    for (const auto& bytes : state().records) {
      T record;
      if (bytes.size() < sizeof record) continue;
      memcpy(&record, bytes.data(), sizeof record);
      if (record.kind == kind) found.push_back(record);
    }
    return found;
  }
  // What cuptiActivityGetNextRecord said at the end of the newest buffer.
  CUptiResult last_result() { return state().last_result; }
  size_t buffers() { return state().buffers; }

 private:
  struct State {
    State() = default;
    State& operator=(State&& other) {
      records = std::move(other.records);
      buffers = other.buffers;
      buffer_bytes = other.buffer_bytes;
      return *this;
    }
    std::mutex mutex;
    std::vector<std::vector<uint8_t>> records;
    size_t buffers = 0;
    size_t buffer_bytes = 0;
    CUptiResult last_result = CUPTI_SUCCESS;
  };
  static State& state() {
    static State state;
    return state;
  }
  static void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* most_records) {
    *size = state().buffer_bytes;
    *buffer = *size == 0 ? nullptr : static_cast<uint8_t*>(aligned_alloc(8, *size));
    *most_records = 0;
  }
  static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
    const std::lock_guard lock(state().mutex);
    ++state().buffers;
    CUpti_Activity* record = nullptr;
    const uint8_t* previous = nullptr;
    while ((state().last_result = cuptiActivityGetNextRecord(buffer, valid, &record)) ==
           CUPTI_SUCCESS) {
      const auto* here = reinterpret_cast<const uint8_t*>(record);
      if (previous != nullptr) state().records.emplace_back(previous, here);
      previous = here;
    }
    const uint8_t* end = buffer + valid;
    if (previous != nullptr) state().records.emplace_back(previous, end);
    free(buffer);
  }

  std::vector<CUpti_ActivityKind> kinds_;
};

}  // namespace gacer::simcupti::test
