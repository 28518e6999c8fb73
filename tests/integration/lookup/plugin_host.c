// SPDX-License-Identifier: Apache-2.0
// plugin_host MODE LIBRARY [COUNT]: opens a library (now, deep: RTLD_DEEPBIND, apart: dlmopen), calls its plugin_run()
// if it has one. A watchdog ends it with a message if that takes too long.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void too_long(int number) {
  (void)number;
  static const char text[] = "plugin_host: hangs\n";
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(written > 0 ? 99 : 98);
}

int main(int argc, char** argv) {
  signal(SIGALRM, &too_long);
  alarm(60);
  void* library = NULL;
  if (strcmp(argv[1], "apart") == 0)
    library = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
  else
    library = dlopen(argv[2], RTLD_NOW | (strcmp(argv[1], "deep") == 0 ? RTLD_DEEPBIND : 0));
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
  return run == NULL ? 0 : run(argc > 3 ? atoi(argv[3]) : 1);
}
