// SPDX-License-Identifier: Apache-2.0
// One link of a chain of libraries that each pass a call on to the next: CHAIN_NAME is a or b.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

#define GLUE2(one, two) one##two
#define GLUE(one, two) GLUE2(one, two)

int GLUE(chain_calls_, CHAIN_NAME) = 0;

struct tm* localtime(const time_t* moment) {
  struct tm* (*next)(const time_t*) = (struct tm * (*)(const time_t*)) dlsym(RTLD_NEXT, "localtime");
  ++GLUE(chain_calls_, CHAIN_NAME);
  return next(moment);
}

#ifdef CHAIN_OMPT
// As LLVM's OpenMP does: "is there a tool behind me?"
__attribute__((weak)) void* ompt_start_tool(unsigned version, const char* runtime) {
  void* (*next)(unsigned, const char*) = (void* (*)(unsigned, const char*))dlsym(RTLD_NEXT, "ompt_start_tool");
  return next != NULL ? next(version, runtime) : NULL;
}
#endif
