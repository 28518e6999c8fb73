// SPDX-License-Identifier: Apache-2.0
// Starts a program as launchers of frameworks do: launcher unset|overwrite=LIBRARY|empty PROGRAM [ARGUMENT...]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char* const nothing[] = {NULL};
  if (argc < 3) return 2;
  if (strcmp(argv[1], "unset") == 0) unsetenv("LD_PRELOAD");
  if (strncmp(argv[1], "overwrite=", 10) == 0) setenv("LD_PRELOAD", argv[1] + 10, 1);
  if (strcmp(argv[1], "empty") == 0)
    execve(argv[2], argv + 2, nothing);
  else
    execv(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
