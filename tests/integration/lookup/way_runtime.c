// SPDX-License-Identifier: Apache-2.0
// Uses the runtime it is linked to: statically, or in the folder of the program.
#include <stdlib.h>

#include "mini_runtime.h"

int main(int argc, char** argv) {
  return mini_run(argc > 1 ? atoi(argv[1]) : 1);
}
