// SPDX-License-Identifier: Apache-2.0
// A library whose static constructor makes the process's first CUDA call, while it is being loaded.
#include <cstdio>

extern "C" int mini_run(int count);

namespace {
struct Early {
  Early() { printf("early %d\n", mini_run(10)); }
} early;
}  // namespace
