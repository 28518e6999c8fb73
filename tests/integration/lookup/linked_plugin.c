// SPDX-License-Identifier: Apache-2.0
// A plugin linked to libcuda.so.1: says which object answered, and whether it got 4 MiB; launches.
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int plugin_run(int count) {
  Dl_info info;
  if (dladdr((void*)&cuLaunchKernel, &info) == 0) return 2;
  const char* slash = strrchr(info.dli_fname, '/');
  // In a namespace of its own, stdio is another copy that nobody flushes.
  dprintf(1, "%s\n", slash != NULL ? slash + 1 : info.dli_fname);
  CUdevice device = 0;
  CUcontext context = NULL;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 3;
  CUdeviceptr memory = 0;
  const CUresult allocated = cuMemAlloc(&memory, 4u << 20);
  dprintf(1, "%s\n", allocated == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : allocated == CUDA_SUCCESS ? "memory" : "?");
  if (allocated == CUDA_SUCCESS) cuMemFree(memory);
  for (int i = 0; i < count; ++i)
    if (cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS) return 4;
  return 0;
}
