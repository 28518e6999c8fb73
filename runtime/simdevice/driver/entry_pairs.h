// SPDX-License-Identifier: Apache-2.0
// Functions that exist twice: once with the legacy default stream, once (_ptds, _ptsz) with the
// stream of the thread.
#pragma once

#include "runtime/simdevice/driver/cuda_api.h"

// `stream`, a parameter of the function, is passed on first; a NULL stream means the thread's own
// in name##suffix.
#define SIM_STREAM_PAIR(name, suffix, params, implementation, stream, ...)                  \
  CUresult name params {                                                                    \
    return implementation(stream __VA_OPT__(, ) __VA_ARGS__);                               \
  }                                                                                         \
  CUresult name##suffix params {                                                            \
    return implementation(gacer::simdriver::per_thread(stream) __VA_OPT__(, ) __VA_ARGS__); \
  }

// The same for functions without a stream parameter.
#define SIM_DEFAULT_STREAM_PAIR(name, suffix, params, implementation, ...)  \
  CUresult name params {                                                    \
    return implementation(gacer::simdriver::kLegacyStream, __VA_ARGS__);    \
  }                                                                         \
  CUresult name##suffix params {                                            \
    return implementation(gacer::simdriver::kPerThreadStream, __VA_ARGS__); \
  }
