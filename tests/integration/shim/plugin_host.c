// SPDX-License-Identifier: Apache-2.0
// Opens a library by its bare name that only this program's RUNPATH leads to: works only if the loader still sees
// this program as the caller of dlopen.
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  void* plugin = dlopen("libshim_plugin.so", RTLD_NOW);
  if (plugin == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  return dlopen(NULL, RTLD_NOW) == NULL;
}
