// SPDX-License-Identifier: Apache-2.0
// Finding devices, and what they are: names, ids, architecture, modes.
#include <cstdio>
#include <cstring>

#include "runtime/simdevice/device_identity.h"
#include "runtime/simdevice/nvml/library.h"

using namespace gacer::simnvml;  // NOLINT: entry points are global by nature

namespace {

// The device for which is(device); NVML_ERROR_NOT_FOUND.
template <typename Is>
nvmlReturn_t find_device(nvmlDevice_t* out, const Is& is) {
  if (!Library::get().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (const Device* device : Library::get().devices()) {
    if (!is(*device)) continue;
    *out = device->handle();
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

bool names_bus(const char* text, const Device& device) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  const bool full = sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4;
  if (!full) {
    domain = 0;
    if (sscanf(text, "%x:%x.%x", &bus, &slot, &function) != 3) return false;
  }
  return domain == 0 && slot == 0 && function == 0 && bus == device.pci_bus();
}

nvmlReturn_t feature(nvmlDevice_t device, nvmlEnableState_t* out, nvmlEnableState_t state) {
  return give(device, out, [&](const Device&) { return state; });
}

nvmlReturn_t count_devices(unsigned* count) {
  if (!Library::get().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = static_cast<unsigned>(Library::get().devices().size());
  return NVML_SUCCESS;
}

nvmlReturn_t by_index(unsigned index, nvmlDevice_t* device) {
  const nvmlReturn_t found =
      find_device(device, [&](const Device& known) { return known.index == index; });
  return found == NVML_ERROR_NOT_FOUND ? NVML_ERROR_INVALID_ARGUMENT : found;
}

nvmlReturn_t by_bus_id(const char* text, nvmlDevice_t* device) {
  if (text == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device(device, [&](const Device& known) { return names_bus(text, known); });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  return count_devices(count);
}
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) {
  return count_devices(count);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return by_index(index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return by_index(index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* text, nvmlDevice_t* device) {
  return by_bus_id(text, device);
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* text, nvmlDevice_t* device) {
  return by_bus_id(text, device);
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device(device, [&](const Device& known) { return known.uuid() == uuid; });
}
nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
  if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (uuid->type == NVML_UUID_TYPE_ASCII) {
    const std::string_view text(uuid->value.str, strnlen(uuid->value.str, sizeof uuid->value.str));
    return find_device(device, [&](const Device& known) { return known.uuid() == text; });
  }
  if (uuid->type != NVML_UUID_TYPE_BINARY) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device(device, [&](const Device& known) {
    const auto own = gacer::simdevice::device_uuid_bytes(known.spec(), known.index);
    return memcmp(own.data(), uuid->value.bytes, own.size()) == 0;
  });
}
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  if (serial == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device(device, [&](const Device& known) { return known.serial() == serial; });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return with_device(device,
                     [&](const Device& d) { return copy_text(d.spec().name, name, length); });
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return with_device(device, [&](const Device& d) { return copy_text(d.uuid(), uuid, length); });
}
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned length) {
  return with_device(device,
                     [&](const Device& d) { return copy_text(d.serial(), serial, length); });
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return give(device, index, [](const Device& d) { return d.index; });
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor_number) {
  return give(device, minor_number, [](const Device& d) { return d.index; });
}
nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned* module_id) {
  return give(device, module_id, [](const Device& d) { return d.index; });
}
nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned* board_id) {
  return give(device, board_id, [](const Device& d) { return d.pci_bus() << 8; });
}
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned* several) {
  return give(device, several, [](const Device&) { return 0; });
}
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t* brand) {
  return give(device, brand, [](const Device& d) { return d.board->brand; });
}
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* out) {
  return give(device, out, [](const Device& d) { return d.board->architecture; });
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return with_device(device, [&](const Device& d) {
    if (major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *major = d.spec().compute_major;
    *minor = d.spec().compute_minor;
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned* cores) {
  return give(device, cores,
              [](const Device& d) { return d.model->pipes.fp32 * 32 * d.spec().sm_count; });
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return feature(device, mode, NVML_FEATURE_DISABLED);  // the server ends after its last client
}
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* display) {
  return feature(device, display, NVML_FEATURE_DISABLED);
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t* active) {
  return feature(device, active, NVML_FEATURE_DISABLED);
}
nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return feature(device, mode, NVML_FEATURE_DISABLED);
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending) {
  const nvmlReturn_t answered = feature(device, current, NVML_FEATURE_DISABLED);
  return answered == NVML_SUCCESS ? feature(device, pending, NVML_FEATURE_DISABLED) : answered;
}
nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return feature(device, mode, NVML_FEATURE_DISABLED);
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return give(device, mode, [](const Device&) { return NVML_COMPUTEMODE_DEFAULT; });
}
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device,
                                             nvmlGpuVirtualizationMode_t* mode) {
  return give(device, mode, [](const Device&) { return NVML_GPU_VIRTUALIZATION_MODE_NONE; });
}
nvmlReturn_t nvmlDeviceGetPowerSource(nvmlDevice_t device, nvmlPowerSource_t* source) {
  return give(device, source, [](const Device&) { return NVML_POWER_SOURCE_AC; });
}
