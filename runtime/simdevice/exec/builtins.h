// SPDX-License-Identifier: Apache-2.0
// Functions that the device's runtime system provides: vprintf, __assertfail, malloc, free and
// cudaGraphSetConditional.
#pragma once

#include <string>

#include "runtime/simdevice/exec/code.h"

namespace gacer::simdevice {

struct Builtin {
  Handler handler;  // finds its call site at FunctionCode::sites[in.list.first]
  bool prints;
  bool uses_heap;
};

// nullptr: not provided.
const Builtin* find_builtin(const std::string& name, size_t argument_count);

}  // namespace gacer::simdevice
