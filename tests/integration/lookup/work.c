// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <cudaTypedefs.h>
#include <stdio.h>

#define FIND(name, version) PFN_##name##_v##version name##_ = (PFN_##name##_v##version)find(#name, version)
#define TRY(call)                                 \
  do {                                            \
    const CUresult result_ = (call);              \
    if (result_ != CUDA_SUCCESS) {                \
      printf("%s answered %d\n", #call, result_); \
      return result_;                             \
    }                                             \
  } while (0)

static CUresult launch_all(FindFunction find, CUfunction function, CUstream stream, int count) {
  FIND(cuLaunchKernel, 4000);
  FIND(cuStreamSynchronize, 2000);
  for (int i = 0; i < count; ++i) TRY(cuLaunchKernel_(function, 2, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
  return cuStreamSynchronize_(stream);
}

static CUresult with_memory(FindFunction find, CUfunction function, CUstream stream, int count) {
  FIND(cuMemAlloc, 3020);
  FIND(cuMemcpyHtoDAsync, 3020);
  FIND(cuMemFree, 3020);
  CUdeviceptr memory = 0;
  char bytes[4096] = {0};
  TRY(cuMemAlloc_(&memory, sizeof bytes));
  TRY(cuMemcpyHtoDAsync_(memory, bytes, sizeof bytes, stream));
  TRY(launch_all(find, function, stream, count));
  return cuMemFree_(memory);
}

CUresult do_work(FindFunction find, int count) {
  FIND(cuInit, 2000);
  FIND(cuDeviceGet, 2000);
  FIND(cuDevicePrimaryCtxRetain, 7000);
  FIND(cuCtxSetCurrent, 4000);
  FIND(cuModuleLoadData, 2000);
  FIND(cuModuleGetFunction, 2000);
  FIND(cuStreamCreate, 2000);
  FIND(cuStreamDestroy, 4000);
  CUdevice device = 0;
  CUcontext context = NULL;
  CUmodule module = NULL;
  CUfunction function = NULL;
  CUstream stream = NULL;
  TRY(cuInit_(0));
  TRY(cuDeviceGet_(&device, 0));
  TRY(cuDevicePrimaryCtxRetain_(&context, device));
  TRY(cuCtxSetCurrent_(context));
  TRY(cuModuleLoadData_(&module, ".version 8.0"));
  TRY(cuModuleGetFunction_(&function, module, "kernel"));
  TRY(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING));
  TRY(with_memory(find, function, stream, count));
  return cuStreamDestroy_(stream);
}
