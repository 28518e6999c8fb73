// SPDX-License-Identifier: Apache-2.0
// Our side of every hooked symbol: gacer_hook_<symbol>, declared with the type that cuda.h gives to
// <symbol>. A definition that differs does not compile. The exported <symbol> is a jump to it
// (scripts/gen_hooks.py).
#pragma once

#include "interpose/cuda_api.h"

extern "C" {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  decltype(::symbol) gacer_hook_##symbol;
#include "interpose/cuda_hooks.def"
}
