// SPDX-License-Identifier: Apache-2.0
// Linked to libcuda.so.1; prints which object each of the C library's lookups finds a function in.
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void say(const char* how, void* function) {
  Dl_info info;
  const char* file = function != NULL && dladdr(function, &info) != 0 ? info.dli_fname : "none";
  const char* slash = strrchr(file, '/');
  printf("%s %s\n", how, slash != NULL ? slash + 1 : file);
}

int main(void) {
  say("linked", (void*)&cuLaunchKernel);
  say("default", dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
  say("next", dlsym(RTLD_NEXT, "cuLaunchKernel"));
  say("main", dlsym(dlopen(NULL, RTLD_NOW), "cuLaunchKernel"));
  say("handle", dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel"));
  say("noload", dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuLaunchKernel"));
  say("forwarded", dlsym(RTLD_NEXT, "cuCtxGetApiVersion"));
  return 0;
}
