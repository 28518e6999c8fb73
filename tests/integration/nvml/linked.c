/* SPDX-License-Identifier: Apache-2.0
 * linked: a program linked to libnvidia-ml.so.1. Prints total, free and used of device 0, the answer to a v2 query with
 * a wrong version, and who answers by dlsym(RTLD_DEFAULT). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

struct memory_v1 {
  unsigned long long total, free, used;
};
struct memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device);
int nvmlDeviceGetMemoryInfo(void* device, struct memory_v1* memory);
int nvmlDeviceGetMemoryInfo_v2(void* device, struct memory_v2* memory);

int main(void) {
  void* device = NULL;
  struct memory_v1 one = {0, 0, 0};
  struct memory_v2 wrong = {1, 0, 0, 0, 0};
  if (nvmlInit_v2() != 0 || nvmlDeviceGetHandleByIndex_v2(0, &device) != 0) return 1;
  if (nvmlDeviceGetMemoryInfo(device, &one) != 0) return 2;
  const int refused = nvmlDeviceGetMemoryInfo_v2(device, &wrong);
  Dl_info who = {0};
  dladdr(dlsym(RTLD_DEFAULT, "nvmlDeviceGetMemoryInfo"), &who);
  printf("%llu %llu %llu %d %s\n", one.total, one.free, one.used, refused, who.dli_fname);
  return 0;
}
