// SPDX-License-Identifier: Apache-2.0
// Asks NVIDIA's runtime for what it can say without a device; prints every answer.
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void) {
  int driver = 0, runtime = 0, count = 0;
  void* function = NULL;
  int result = cudaDriverGetVersion(&driver);
  printf("driver %d %d\n", result, driver);
  result = cudaRuntimeGetVersion(&runtime);
  printf("runtime %d %d\n", result, runtime);
  result = cudaGetDeviceCount(&count);
  printf("devices %d %d\n", result, count);
  result = cudaGetDriverEntryPointByVersion("cuLaunchKernel", &function, 12000, cudaEnableDefault, NULL);
  printf("entry point %d\n", result);
  return 0;
}
