// SPDX-License-Identifier: Apache-2.0
// Faults on request: a driver that is older than it is, or lacks symbols. Both concern what
// cuDriverGetVersion and cuGetProcAddress answer: what a program links to or looks up with dlsym
// cannot be hidden from it.
//   SIMGPU_DRIVER_VERSION=12040        a driver of CUDA 12.4
//   SIMGPU_HIDE_SYMBOLS=cuA,cuB_v2     names as in cuGetProcAddress, or of single exported symbols
#pragma once

#include <string_view>

namespace gacer::simdriver {

// As cuDriverGetVersion answers.
int answered_driver_version();
// `base`: as cuGetProcAddress is asked for it; `symbol`: as exported.
bool symbol_is_hidden(std::string_view base, std::string_view symbol);

}  // namespace gacer::simdriver
