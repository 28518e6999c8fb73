// SPDX-License-Identifier: Apache-2.0
// The activity API.
#include <cstring>
#include <iterator>

#include "runtime/simdevice/cupti/activity.h"
#include "runtime/simdevice/cupti/dispatch.h"
#include "runtime/simdevice/cupti/subscriber.h"

using namespace gacer::simcupti;  // NOLINT: entry points are global by nature

namespace {

// Settings that nothing here depends on are kept and told again.
struct Attribute {
  size_t bytes;
  uint64_t value;
};
Attribute attributes[] = {
    {sizeof(size_t), 3 << 20},  // DEVICE_BUFFER_SIZE
    {sizeof(size_t), 8 << 20},  // DEVICE_BUFFER_SIZE_CDP
    {sizeof(size_t), 250},      // DEVICE_BUFFER_POOL_LIMIT
    {sizeof(size_t), 65536},    // PROFILING_SEMAPHORE_POOL_SIZE
    {sizeof(size_t), 250},      // PROFILING_SEMAPHORE_POOL_LIMIT
    {sizeof(uint8_t), 0},       // ZEROED_OUT_ACTIVITY_BUFFER
    {sizeof(size_t), 3},        // DEVICE_BUFFER_PRE_ALLOCATE_VALUE
    {sizeof(size_t), 3},        // PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE
    {sizeof(uint8_t), 0},       // MEM_ALLOCATION_TYPE_HOST_PINNED
    {sizeof(uint8_t), 0},       // PER_THREAD_ACTIVITY_BUFFER
    {sizeof(size_t), 16 << 20}  // DEVICE_BUFFER_SIZE_DEVICE_GRAPHS
};

CUptiResult find_attribute(CUpti_ActivityAttribute which, const size_t* size, const void* value,
                           Attribute*& out) {
  const auto index = static_cast<size_t>(which);
  if (size == nullptr || value == nullptr || index >= std::size(attributes))
    return CUPTI_ERROR_INVALID_PARAMETER;
  out = &attributes[index];
  return *size < out->bytes ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT : CUPTI_SUCCESS;
}

void drain_driver() {
  if (auto* hooks = driver_hooks()) hooks->drain_activity();
}

CUptiResult flush_all() {
  if (!Activities::get().buffers().has_functions()) return CUPTI_ERROR_INVALID_OPERATION;
  drain_driver();
  Activities::get().buffers().flush();
  return CUPTI_SUCCESS;
}

// Nothing here depends on the setting.
CUptiResult accept() {
  return driver_hooks() == nullptr ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_SUCCESS;
}

}  // namespace

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return Activities::get().enable(kind, true);
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  drain_driver();
  return Activities::get().enable(kind, false);
}
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  const CUptiResult result = Activities::get().enable(kind, true);
  if (result != CUPTI_SUCCESS) return result;
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) Activities::get().record_devices(true);
  CUcontext context = kind == CUPTI_ACTIVITY_KIND_CONTEXT ? current_context() : nullptr;
  if (context != nullptr) Activities::get().record_context(context);
  return CUPTI_SUCCESS;
}
// Contexts are not told apart.
CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return context == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : cuptiActivityEnable(kind);
}
CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return context == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : cuptiActivityDisable(kind);
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  if (id == 0 || id >= CUPTI_DRIVER_TRACE_CBID_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  Activities::get().enable_call(CUPTI_ACTIVITY_KIND_DRIVER, id, enable != 0);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  if (id == 0 || id >= CUPTI_RUNTIME_TRACE_CBID_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  Activities::get().enable_call(CUPTI_ACTIVITY_KIND_RUNTIME, id, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Activities::get().buffers().set_functions(request, complete);
  return CUPTI_SUCCESS;
}
// What has not ended has no record yet: a forced flush has nothing more to give.
CUptiResult cuptiActivityFlushAll(uint32_t /*flag*/) {
  return flush_all();
}
CUptiResult cuptiActivityFlush(CUcontext /*context*/, uint32_t /*stream*/, uint32_t /*flag*/) {
  return flush_all();
}
CUptiResult cuptiActivityFlushPeriod(uint32_t time_ms) {
  Activities::get().buffers().flush_every(time_ms, &drain_driver);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                       CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    const size_t bytes = record_bytes((*record)->kind);
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<uint8_t*>(*record) + bytes;
  }
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* candidate = reinterpret_cast<CUpti_Activity*>(next);
  const size_t bytes = record_bytes(candidate->kind);
  if (bytes == 0 || next + bytes > buffer + valid_bytes) return CUPTI_ERROR_INVALID_KIND;
  *record = candidate;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, uint32_t /*stream*/,
                                              size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = Activities::get().buffers().take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
  Attribute* attribute = nullptr;
  const CUptiResult found = find_attribute(which, size, value, attribute);
  if (found != CUPTI_SUCCESS) return found;
  *size = attribute->bytes;
  memcpy(value, &attribute->value, attribute->bytes);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
  Attribute* attribute = nullptr;
  const CUptiResult found = find_attribute(which, size, value, attribute);
  if (found != CUPTI_SUCCESS) return found;
  memcpy(&attribute->value, value, attribute->bytes);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   uint64_t id) {
  return push_external(kind, id);
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t* last) {
  return pop_external(kind, last);
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t /*enable*/) {
  return accept();
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type < 0 || type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return CUPTI_ERROR_NOT_SUPPORTED;
  Activities::get().set_thread_id_type(type);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *type = Activities::get().thread_id_type();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize() {
  if (Activities::get().buffers().has_functions()) (void)flush_all();
  Activities::get().disable_all();
  return CUPTI_SUCCESS;
}
