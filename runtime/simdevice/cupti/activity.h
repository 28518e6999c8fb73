// SPDX-License-Identifier: Apache-2.0
// Activity records: which kinds are wanted, and the records of the current structure versions.
// Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/simdevice/cupti/activity_buffers.h"
#include "runtime/simdevice/cupti/cupti_api.h"
#include "runtime/simdevice/tools_hooks.h"

namespace gacer::simcupti {

class Activities {
 public:
  static Activities& get();

  // CUPTI_ERROR_INVALID_KIND, CUPTI_ERROR_NOT_COMPATIBLE (not collected here).
  CUptiResult enable(CUpti_ActivityKind kind, bool on);
  bool enabled(CUpti_ActivityKind kind) const;
  bool any_enabled() const { return enabled_count_.load(std::memory_order_relaxed) > 0; }
  // Kernels, copies or memsets.
  bool device_work_enabled() const;
  void disable_all();
  // Records of single API functions, besides or instead of those of the whole kind.
  void enable_call(CUpti_ActivityKind kind, CUpti_CallbackId id, bool on);

  void record(const simdevice::ToolsActivity& activity);
  // `nested`: a driver call inside a call of the runtime, with the same correlation id.
  void record_call(const simdevice::ToolsCall& call, bool nested);
  void record_context(CUcontext context);
  void record_stream(const simdevice::ToolsCall& call, CUstream stream, unsigned flags,
                     int priority);
  void record_synchronization(const simdevice::ToolsCall& call,
                              CUpti_ActivitySynchronizationType type, uint32_t stream);
  // One for each device; by itself once, after cuInit.
  void record_devices(bool again = false);

  void set_thread_id_type(CUpti_ActivityThreadIdType type) { thread_ids_ = type; }
  CUpti_ActivityThreadIdType thread_id_type() const { return thread_ids_; }
  ActivityBuffers& buffers() { return buffers_; }

 private:
  void record_kernel(const simdevice::ToolsActivity& activity);
  void record_copy(const simdevice::ToolsActivity& activity);
  void record_memset(const simdevice::ToolsActivity& activity);
  void record_external(uint32_t correlation_id);
  bool call_wanted(CUpti_ActivityKind kind, CUpti_CallbackId id);
  uint32_t thread_id() const;
  template <typename Record>
  void append(const Record& record) {
    buffers_.append(&record, sizeof record);
  }

  std::atomic<bool> enabled_[CUPTI_ACTIVITY_KIND_COUNT] = {};
  std::atomic<int> enabled_count_{0};
  std::atomic<CUpti_ActivityThreadIdType> thread_ids_{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};
  std::mutex calls_mutex_;
  std::map<std::pair<CUpti_ActivityKind, CUpti_CallbackId>, bool> calls_;
  std::atomic<bool> single_calls_{false};
  std::atomic<bool> devices_recorded_{false};
  ActivityBuffers buffers_;
};

// The external ids that this thread has pushed.
CUptiResult push_external(CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult pop_external(CUpti_ExternalCorrelationKind kind, uint64_t* last);

// Size of a record as it lies in a buffer; 0: no record of ours.
size_t record_bytes(CUpti_ActivityKind kind);

}  // namespace gacer::simcupti
