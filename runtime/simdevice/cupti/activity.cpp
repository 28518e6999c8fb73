// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/activity.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/simdevice/cupti/dispatch.h"

namespace gacer::simcupti {
namespace {

constexpr CUpti_ActivityKind kCollected[] = {
    CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT,
    CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_NAME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_MARKER,
    CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MARKER_DATA,
    // Nothing of these kinds ever happens here.
    CUPTI_ACTIVITY_KIND_CDP_KERNEL, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API};

using Stacks = std::map<CUpti_ExternalCorrelationKind, std::vector<uint64_t>>;
Stacks& external_stacks() {
  thread_local Stacks stacks;
  return stacks;
}

}  // namespace

Activities& Activities::get() {
  static Activities& activities = *new Activities;
  return activities;
}

CUptiResult Activities::enable(CUpti_ActivityKind kind, bool on) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
    return CUPTI_ERROR_INVALID_KIND;
  if (driver_hooks() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (std::find(std::begin(kCollected), std::end(kCollected), kind) == std::end(kCollected))
    return on ? CUPTI_ERROR_NOT_COMPATIBLE : CUPTI_SUCCESS;
  if (enabled_[kind].exchange(on, std::memory_order_relaxed) != on)
    enabled_count_.fetch_add(on ? 1 : -1, std::memory_order_relaxed);
  update_hooks();
  return CUPTI_SUCCESS;
}

bool Activities::enabled(CUpti_ActivityKind kind) const {
  return enabled_[kind].load(std::memory_order_relaxed);
}

bool Activities::device_work_enabled() const {
  return enabled(CUPTI_ACTIVITY_KIND_KERNEL) || enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
         enabled(CUPTI_ACTIVITY_KIND_MEMCPY) || enabled(CUPTI_ACTIVITY_KIND_MEMCPY2) ||
         enabled(CUPTI_ACTIVITY_KIND_MEMSET);
}

void Activities::disable_all() {
  for (const CUpti_ActivityKind kind : kCollected) (void)enable(kind, false);
  const std::lock_guard lock(calls_mutex_);
  calls_.clear();
  single_calls_.store(false, std::memory_order_relaxed);
}

void Activities::enable_call(CUpti_ActivityKind kind, CUpti_CallbackId id, bool on) {
  {
    const std::lock_guard lock(calls_mutex_);
    calls_[{kind, id}] = on;
    if (!single_calls_.exchange(true, std::memory_order_relaxed))
      enabled_count_.fetch_add(1, std::memory_order_relaxed);
  }
  update_hooks();
}

bool Activities::call_wanted(CUpti_ActivityKind kind, CUpti_CallbackId id) {
  if (single_calls_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(calls_mutex_);
    if (const auto own = calls_.find({kind, id}); own != calls_.end()) return own->second;
  }
  return enabled(kind);
}

uint32_t Activities::thread_id() const {
  if (thread_id_type() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
    return static_cast<uint32_t>(gettid());
  return static_cast<uint32_t>(pthread_self());
}

void Activities::record_call(const simdevice::ToolsCall& call, bool nested) {
  const bool runtime = call.domain == simdevice::ToolsDomain::kRuntime;
  const CUpti_ActivityKind kind =
      runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  // The call of the runtime says it for the driver calls inside.
  if (!nested) record_external(call.correlation_id);
  if (!call_wanted(kind, call.cbid)) return;
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = call.cbid;
  record.start = call.start_ns;
  record.end = call.end_ns;
  record.processId = static_cast<uint32_t>(getpid());
  record.threadId = thread_id();
  record.correlationId = call.correlation_id;
  record.returnValue = call.result == nullptr ? 0 : *static_cast<const uint32_t*>(call.result);
  append(record);
}

void Activities::record_external(uint32_t correlation_id) {
  if (!enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  for (const auto& [kind, ids] : external_stacks()) {
    if (ids.empty()) continue;
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = kind;
    record.externalId = ids.back();
    record.correlationId = correlation_id;
    append(record);
  }
}

CUptiResult push_external(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
      kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  external_stacks()[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult pop_external(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
      kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  std::vector<uint64_t>& ids = external_stacks()[kind];
  if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last != nullptr) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

}  // namespace gacer::simcupti
