// SPDX-License-Identifier: Apache-2.0
#include "mini_runtime.h"

#include <dlfcn.h>
#include <stddef.h>

#include "work.h"

typedef CUresult (*Lookup)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static Lookup lookup;

static void* find(const char* name, int version) {
  void* function = NULL;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  (void)version;  // a runtime asks for the version it was built with
  lookup(name, &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
  return status == CU_GET_PROC_ADDRESS_SUCCESS ? function : NULL;
}

int mini_run(int count) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 1;
  lookup = (Lookup)dlsym(driver, "cuGetProcAddress_v2");
  return lookup == NULL ? 2 : (int)do_work(&find, count);
}
