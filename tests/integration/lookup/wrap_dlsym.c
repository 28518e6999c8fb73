// SPDX-License-Identifier: Apache-2.0
// Another preload, of the kind that stands before dlsym: counts, and calls the real one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned calls;

void* dlsym(void* handle, const char* name) {
  static void* (*real)(void*, const char*);
  if (real == NULL) {
    real = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (real == NULL) abort();
  }
  ++calls;
  return real(handle, name);
}

__attribute__((destructor)) static void report(void) {
  const char* path = getenv("WRAP_DLSYM_REPORT");
  FILE* file = path != NULL ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "%u\n", calls);
  fclose(file);
}
