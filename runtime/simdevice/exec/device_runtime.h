// SPDX-License-Identifier: Apache-2.0
// Functions of the device runtime library (libcudadevrt.a, which is machine code) that modules may
// call: grid barriers of cooperative groups, as code generators other than nvcc use them.
#pragma once

#include "runtime/ptx/ast.h"

namespace gacer::simdevice {

// Adds the definitions of those functions that `module` declares and does not define. Functions of
// the library that are not known here stay undefined, and calls of them are refused. Thread-safe.
void add_device_runtime(ptx::Module& module);

}  // namespace gacer::simdevice
