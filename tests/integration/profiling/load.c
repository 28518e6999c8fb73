/* SPDX-License-Identifier: Apache-2.0
 * A program that keeps the device busy: prints its device's UUID and "ready", then launches kernels
 * until its standard input ends. Argument: MiB of device memory to hold. */
#include <cuda.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char kPtx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry spin(.param .u32 turns) {\n"
    "  .reg .pred %p; .reg .b32 %r<3>;\n"
    "  ld.param.u32 %r1, [turns];\n  mov.u32 %r2, 0;\n"
    "LOOP:\n  add.u32 %r2, %r2, 1;\n  setp.lt.u32 %p, %r2, %r1;\n  @%p bra LOOP;\n  ret;\n}\n";

static void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, (int)result);
  exit(1);
}

static int input_ended(void) {
  char byte;
  return read(0, &byte, 1) == 0;
}

int main(int argc, char** argv) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction spin;
  CUdeviceptr memory;
  CUuuid uuid;
  unsigned turns = 1000000;
  void* params[] = {&turns};
  int i;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  check(cuCtxCreate(&context, NULL, 0, device), "cuCtxCreate");
  check(cuMemAlloc(&memory, (size_t)atoi(argc > 1 ? argv[1] : "1") << 20), "cuMemAlloc");
  check(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  check(cuModuleGetFunction(&spin, module, "spin"), "cuModuleGetFunction");
  for (i = 0; i < 16; ++i) printf("%02x", (unsigned char)uuid.bytes[i]);
  printf("\nready\n");
  fflush(stdout);
  fcntl(0, F_SETFL, O_NONBLOCK);
  while (!input_ended()) {
    check(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
    check(cuCtxSynchronize(), "cuCtxSynchronize");
  }
  return 0;
}
