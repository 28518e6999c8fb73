// SPDX-License-Identifier: Apache-2.0
// The way of a kernel launch that has something to ask for: gacer_gated_<symbol>. entry_lone.cpp
// decides.
#pragma once

#include "interpose/cuda_api.h"

// X(symbol) for each kernel launch that has a lone path.
#define GACER_LONE_ENTRIES(X) \
  X(cuLaunchKernel)           \
  X(cuLaunchKernel_ptsz)      \
  X(cuLaunchKernelEx)         \
  X(cuLaunchKernelEx_ptsz)

extern "C" {
#define GACER_DECLARE(symbol) decltype(::symbol) gacer_gated_##symbol;
GACER_LONE_ENTRIES(GACER_DECLARE)
#undef GACER_DECLARE
}
