// SPDX-License-Identifier: Apache-2.0
// Linked to libcuda.so.1: the loader has resolved every function before main().
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

// cuda.h may rename a function to its newest ABI; both names are wanted.
#define ROW(base, symbol) {base, (void*)&symbol}

static const struct {
  const char* name;
  void* function;
} rows[] = {ROW("cuInit", cuInit),
            ROW("cuDeviceGet", cuDeviceGet),
            ROW("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain),
            ROW("cuCtxSetCurrent", cuCtxSetCurrent),
            ROW("cuModuleLoadData", cuModuleLoadData),
            ROW("cuModuleGetFunction", cuModuleGetFunction),
            ROW("cuStreamCreate", cuStreamCreate),
            ROW("cuStreamDestroy", cuStreamDestroy),
            ROW("cuMemAlloc", cuMemAlloc),
            ROW("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync),
            ROW("cuMemFree", cuMemFree),
            ROW("cuLaunchKernel", cuLaunchKernel),
            ROW("cuStreamSynchronize", cuStreamSynchronize)};

static void* find(const char* name, int version) {
  (void)version;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (strcmp(rows[i].name, name) == 0) return rows[i].function;
  return NULL;
}

int main(int argc, char** argv) {
  return do_work(&find, argc > 1 ? atoi(argv[1]) : 1);
}
