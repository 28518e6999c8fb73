// SPDX-License-Identifier: Apache-2.0
// Fallback of every driver function without an implementation: CUDA_ERROR_NOT_SUPPORTED and, with
// SIMGPU_LOG=debug, one line per name. The functions are weak: a definition elsewhere in the
// library wins. They take no arguments because the caller removes its own (System V ABI).
#pragma once

#include "sim_rename.h"

namespace gacer::simdriver {

int answer_unsupported(const char* name);

}  // namespace gacer::simdriver

#define GACER_SIM_UNSUPPORTED(name)                                \
  extern "C" [[gnu::weak, gnu::visibility("default")]] int name(); \
  extern "C" int name() {                                          \
    return gacer::simdriver::answer_unsupported(#name);            \
  }
