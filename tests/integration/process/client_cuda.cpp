// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/process/client_cuda.h"

#include <cerrno>
#include <cstdio>

namespace gacer::test {
namespace {

int failed = 0;
bool prepared = false;
CUfunction the_function = nullptr;
CUstream the_stream = nullptr;

void succeeds(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) printf("%s answered %d\n", what, result);
  expect(result == CUDA_SUCCESS, what);
}

}  // namespace

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failed;
  printf("not so: %s\n", what);
}

int failures() {
  return failed;
}
CUfunction function() {
  return the_function;
}
CUstream stream() {
  return the_stream;
}
void forget() {
  prepared = false;
}

void prepare() {
  if (prepared) return;
  prepared = true;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  succeeds(cuInit(0), "cuInit");
  succeeds(cuDeviceGet(&device, 0), "cuDeviceGet");
  succeeds(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  succeeds(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  succeeds(cuModuleLoadData(&module, ".version 8.0"), "cuModuleLoadData");
  succeeds(cuModuleGetFunction(&the_function, module, "kernel"), "cuModuleGetFunction");
  succeeds(cuStreamCreate(&the_stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

void launch(int count) {
  prepare();
  for (int i = 0; i < count; ++i)
    succeeds(cuLaunchKernel(the_function, 1, 1, 1, 32, 1, 1, 0, the_stream, nullptr, nullptr),
             "cuLaunchKernel");
}

}  // namespace gacer::test
