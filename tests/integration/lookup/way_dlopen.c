// SPDX-License-Identifier: Apache-2.0
// Opens the driver and asks for each function by its exported name: way_dlopen COUNT [NAME OF DRIVER].
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static void* driver;

static void* find(const char* name, int version) {
  char symbol[64];
  const char* const suffixes[] = {"_v2", ""};
  (void)version;
  for (int i = 0; i < 2; ++i) {
    snprintf(symbol, sizeof symbol, "%s%s", name, suffixes[i]);
    void* function = dlsym(driver, symbol);
    if (function != NULL) return function;
  }
  return NULL;
}

int main(int argc, char** argv) {
  driver = dlopen(argc > 2 ? argv[2] : "libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  return do_work(&find, argc > 1 ? atoi(argv[1]) : 1);
}
