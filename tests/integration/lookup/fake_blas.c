// SPDX-License-Identifier: Apache-2.0
// What a math library does when a handle is created, as far as the driver sees it. Prints every answer.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static PFN_cuGetProcAddress_v12000 lookup;

static void* find(const char* name) {
  void* function = NULL;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result =
      lookup(name, &function, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
  printf("find %s %d %d %s\n", name, result, status, function != NULL ? "yes" : "no");
  return function;
}

#define FIND(name, version) PFN_##name##_v##version name##_ = (PFN_##name##_v##version)find(#name)

static void load_code(void) {
  FIND(cuLibraryLoadData, 12000);
  FIND(cuLibraryGetKernel, 12000);
  FIND(cuModuleGetGlobal, 3020);
  CUlibrary library = NULL;
  CUkernel kernel = NULL;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CUjit_option* options = (CUjit_option*)0x11;
  int result = cuLibraryLoadData_(&library, (void*)0, options, (void**)0x12, 3, (CUlibraryOption*)0x14, (void**)0x15, 6);
  printf("load %d %p\n", result, (void*)library);
  result = cuLibraryGetKernel_(&kernel, library, "gemm");
  printf("kernel %d %p\n", result, (void*)kernel);
  result = cuModuleGetGlobal_(&address, &bytes, (CUmodule)0x21, "table");
  printf("global %d %llx %zu\n", result, address, bytes);
}

static void ask_device(void) {
  FIND(cuCtxGetApiVersion, 3020);
  FIND(cuFuncSetAttribute, 9000);
  FIND(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050);
  FIND(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000);
  FIND(cuStreamQuery, 2000);
  CUfunction function = (CUfunction)0x31;
  unsigned version = 0;
  int blocks = 0;
  int result = cuCtxGetApiVersion_((CUcontext)0x32, &version);
  printf("api %d %u\n", result, version);
  printf("attribute %d %d\n", cuFuncSetAttribute_(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536),
         cuFuncSetAttribute_(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000));
  result = cuOccupancyMaxActiveBlocksPerMultiprocessor_(&blocks, function, 256, 49152);
  printf("occupancy %d %d\n", result, blocks);
  result = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_(&blocks, function, 128, 1024, 1);
  printf("occupancy %d %d\n", result, blocks);
  printf("query %d\n", cuStreamQuery_(NULL));
}

int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 1;
  lookup = (PFN_cuGetProcAddress_v12000)dlsym(driver, "cuGetProcAddress_v2");
  FIND(cuGetExportTable, 3000);
  find("cuNothingOfTheKind");
  const CUuuid id = {{(char)0x6b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (char)0x2f}};
  const void* table = NULL;
  const int result = cuGetExportTable_(&table, &id);
  printf("table %d %s\n", result, table != NULL ? (const char*)table : "none");
  load_code();
  ask_device();
  return 0;
}
