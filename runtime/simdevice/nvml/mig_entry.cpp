// SPDX-License-Identifier: Apache-2.0
// MIG, which is off; event sets, which only time out; field values.
#include <unistd.h>

#include <ctime>

#include "runtime/simdevice/nvml/library.h"

using namespace gacer::simnvml;  // NOLINT: entry points are global by nature

struct nvmlEventSet_st {
  int unused;
};

namespace {

nvmlReturn_t wait_in_vain(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
  if (!Library::get().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (set == nullptr || data == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const timespec time{static_cast<time_t>(timeout_ms / 1000),
                      static_cast<long>(timeout_ms % 1000) * 1'000'000};
  nanosleep(&time, nullptr);
  return NVML_ERROR_TIMEOUT;
}

// False: the field is not known here.
bool field_value(unsigned field, unsigned& value) {
  switch (field) {
    case NVML_FI_DEV_ECC_CURRENT:
    case NVML_FI_DEV_ECC_PENDING:
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
      value = 0;
      return true;
    default:
      return false;
  }
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return with_device(device, [&](const Device& d) {
    if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!d.board->mig_capable) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = NVML_DEVICE_MIG_DISABLE;
    return NVML_SUCCESS;
  });
}
// "If MIG is not supported or enabled, 0".
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  return give(device, count, [](const Device&) { return 0; });
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_mig) {
  return give(device, is_mig, [](const Device&) { return 0; });
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned /*index*/,
                                                 nvmlDevice_t* mig_device) {
  return with_device(device, [&](const Device& d) {
    if (mig_device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return d.board->mig_capable ? NVML_ERROR_NOT_FOUND : NVML_ERROR_NOT_SUPPORTED;
  });
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device,
                                                          nvmlDevice_t* /*parent*/) {
  return with_device(device, [](const Device&) { return NVML_ERROR_INVALID_ARGUMENT; });
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  if (!Library::get().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *set = new nvmlEventSet_st{};
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  if (!Library::get().initialized()) return NVML_ERROR_UNINITIALIZED;
  delete set;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* types) {
  return give(device, types, [](const Device&) { return nvmlEventTypeNone; });
}
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set) {
  return with_device(device, [&](const Device&) {
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return types == nvmlEventTypeNone ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
  });
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
  return wait_in_vain(set, data, timeout_ms);
}
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
  return wait_in_vain(set, data, timeout_ms);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  return with_device(device, [&](const Device&) {
    if (count <= 0 || values == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; ++i) {
      nvmlFieldValue_t& field = values[i];
      unsigned value = 0;
      field.nvmlReturn =
          field_value(field.fieldId, value) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
      field.timestamp = static_cast<long long>(time(nullptr)) * 1'000'000;
      field.latencyUsec = 0;
      field.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
      field.value = {};
      field.value.uiVal = value;
    }
    return NVML_SUCCESS;
  });
}
