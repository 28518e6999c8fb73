/* SPDX-License-Identifier: Apache-2.0
 * See README.md. Struct layouts: NVML API Reference Guide, nvmlMemory_t and nvmlMemory_v2_t. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kUninitialized = 1, kInvalidArgument = 2, kInsufficientSize = 7, kVersionMismatch = 25 };
enum { kMaxDevices = 16 };

struct device {
  char uuid[48];
  unsigned long long total, used, reserved;
};
struct memory_v1 {
  unsigned long long total, free, used;
};
struct memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

static struct device devices[kMaxDevices];
static unsigned device_count;
static int initialized;

int nvmlInit_v2(void) {
  const char* text = getenv("NULLNVML_DEVICES");
  device_count = 0;
  while (text != NULL && *text != '\0' && device_count < kMaxDevices) {
    struct device* device = &devices[device_count];
    if (sscanf(text, "%47[^:]:%llu:%llu:%llu", device->uuid, &device->total, &device->used, &device->reserved) != 4)
      return kInvalidArgument;
    ++device_count;
    text = strchr(text, ',');
    if (text != NULL) ++text;
  }
  initialized = 1;
  return kSuccess;
}

int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  return nvmlInit_v2();
}

int nvmlShutdown(void) {
  initialized = 0;
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  if (!initialized) return kUninitialized;
  *count = device_count;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device** device) {
  if (!initialized) return kUninitialized;
  if (index >= device_count) return kInvalidArgument;
  *device = &devices[index];
  return kSuccess;
}

int nvmlDeviceGetUUID(struct device* device, char* text, unsigned bytes) {
  if (!initialized) return kUninitialized;
  if (strlen(device->uuid) >= bytes) return kInsufficientSize;
  strcpy(text, device->uuid);
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(struct device* device, struct memory_v1* memory) {
  if (!initialized) return kUninitialized;
  if (device == NULL || memory == NULL) return kInvalidArgument;
  memory->total = device->total;
  memory->used = device->used + device->reserved;
  memory->free = device->total - memory->used;
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo_v2(struct device* device, struct memory_v2* memory) {
  if (!initialized) return kUninitialized;
  if (device == NULL || memory == NULL) return kInvalidArgument;
  if (memory->version != (sizeof *memory | 2u << 24)) return kVersionMismatch;
  memory->total = device->total;
  memory->used = device->used;
  memory->reserved = device->reserved;
  memory->free = device->total - device->used - device->reserved;
  return kSuccess;
}

int nullnvml_marker(void) {
  return 4711;
}
