// SPDX-License-Identifier: Apache-2.0
// Version, results, time, ids, which devices are supported.
#include "runtime/simdevice/cupti/driver_link.h"

using namespace gacer::simcupti;  // NOLINT: entry points are global by nature

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
#define GACER_RESULT(code) \
  case code:               \
    *text = #code;         \
    return CUPTI_SUCCESS;
#include "result_rows.inc"
#undef GACER_RESULT
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}
CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return cuptiGetResultString(result, text);
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = host_now_ns();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint32_t found = context_id(context);
  if (found == 0) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = found;
  return CUPTI_SUCCESS;
}

// Of the current context when `context` is NULL.
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint32_t device = device_of(context == nullptr ? current_context() : context);
  if (device == UINT32_MAX) return CUPTI_ERROR_INVALID_DEVICE;
  *id = device;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                               uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (context != nullptr && context_id(context) == 0) return CUPTI_ERROR_INVALID_CONTEXT;
  if (stream == nullptr && per_thread != 0) stream = CU_STREAM_PER_THREAD;
  const uint32_t found =
      stream == nullptr && context != nullptr ? null_stream_id(context) : stream_id(stream);
  if (found == 0) return CUPTI_ERROR_INVALID_STREAM;
  *id = found;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return cuptiGetStreamIdEx(context, stream, 0, id);
}

CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int* support) {
  if (support == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *support = major >= 7 && minor >= 0 ? 1 : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceSupported(CUdevice /*device*/, int* support) {
  if (support == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *support = 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceVirtualizationMode(CUdevice /*device*/,
                                          CUpti_DeviceVirtualizationMode* mode) {
  if (mode == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetLastError() {
  return CUPTI_SUCCESS;
}
