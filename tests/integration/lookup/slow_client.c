// SPDX-License-Identifier: Apache-2.0
// Linked to libcuda; launches COUNT kernels before and after a line on stdin.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static int launch(int count) {
  for (int i = 0; i < count; ++i)
    if (cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS) return 1;
  return 0;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  CUdevice device = 0;
  CUcontext context = NULL;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 3;
  if (launch(count) != 0) return 4;
  printf("half\n");
  fflush(stdout);
  if (getchar() == EOF) return 5;
  // A function that was not called before: its forwarder still has to find the driver.
  int value = 0;
  if (cuDriverGetVersion(&value) != CUDA_SUCCESS) return 6;
  return launch(count);
}
