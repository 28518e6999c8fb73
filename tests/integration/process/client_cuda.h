// SPDX-License-Identifier: Apache-2.0
// What the modes of process_client share: a CUDA program in small that knows nothing of the shim.
#pragma once

#define CUDA_ENABLE_DEPRECATED 1
#include <cuda.h>

namespace gacer::test {

// Failed expectations go to standard output and make the exit code 1.
void expect(bool holds, const char* what);
int failures();

// Once per process: context, function, stream.
void prepare();
// Launches on that stream; prepares first where that has not happened in this process.
void launch(int count);
// In a fork child: what was prepared is the parent's.
void forget();

CUfunction function();
CUstream stream();

}  // namespace gacer::test
