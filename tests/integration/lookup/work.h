// SPDX-License-Identifier: Apache-2.0
// The same small piece of CUDA work, whichever way a program finds the driver's functions.
#pragma once

#include <cuda.h>

typedef void* (*FindFunction)(const char* name, int version);

// Allocates, copies, launches `count` kernels, frees. Returns the first result that is not success.
CUresult do_work(FindFunction find, int count);
