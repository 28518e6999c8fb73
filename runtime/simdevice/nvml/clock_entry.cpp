// SPDX-License-Identifier: Apache-2.0
// Clocks and performance states. The model runs at one clock: current, largest and default are the
// same, and nothing throttles.
#include "runtime/simdevice/nvml/library.h"

using namespace gacer::simnvml;  // NOLINT: entry points are global by nature

namespace {

// NVML_ERROR_NOT_SUPPORTED: the video engines are not modelled.
nvmlReturn_t clock_of(nvmlDevice_t handle, nvmlClockType_t type, unsigned* mhz) {
  return with_device(handle, [&](const Device& device) {
    if (mhz == nullptr || type >= NVML_CLOCK_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    if (type == NVML_CLOCK_VIDEO) return NVML_ERROR_NOT_SUPPORTED;
    *mhz = type == NVML_CLOCK_MEM ? device.board->memory_mhz : device.spec().clock_mhz;
    return NVML_SUCCESS;
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return clock_of(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return clock_of(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                            unsigned* mhz) {
  return clock_of(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                                   unsigned* mhz) {
  return clock_of(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t type,
                                                unsigned* mhz) {
  return clock_of(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id,
                                unsigned* mhz) {
  if (id >= NVML_CLOCK_ID_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
  return clock_of(device, type, mhz);
}
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned* count,
                                                unsigned* mhz) {
  return with_device(device, [&](const Device& d) {
    return copy_list(std::vector<unsigned>{d.board->memory_mhz}, count, mhz);
  });
}
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned memory_mhz,
                                                  unsigned* count, unsigned* mhz) {
  return with_device(device, [&](const Device& d) {
    if (memory_mhz != d.board->memory_mhz) return NVML_ERROR_NOT_FOUND;
    return copy_list(std::vector<unsigned>{d.spec().clock_mhz}, count, mhz);
  });
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state) {
  return give(device, state, [](const Device&) { return NVML_PSTATE_0; });
}
nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t device, nvmlPstates_t* state) {
  return nvmlDeviceGetPerformanceState(device, state);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* reasons) {
  return give(device, reasons, [](const Device&) { return nvmlClocksEventReasonNone; });
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device,
                                                      unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device,
                                                         unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}
nvmlReturn_t nvmlDeviceGetAdaptiveClockInfoStatus(nvmlDevice_t device, unsigned* status) {
  return give(device, status,
              [](const Device&) { return NVML_ADAPTIVE_CLOCKING_INFO_STATUS_DISABLED; });
}
