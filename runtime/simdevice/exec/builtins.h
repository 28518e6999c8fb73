// SPDX-License-Identifier: Apache-2.0
// Functions that the device's runtime system provides: vprintf, __assertfail and
// cudaGraphSetConditional.
#pragma once

#include <string>

#include "runtime/simdevice/exec/code.h"

namespace gacer::simdevice {

// nullptr: not provided. The handler finds its call site at FunctionCode::sites[in.list.first].
Handler find_builtin(const std::string& name, size_t argument_count);

}  // namespace gacer::simdevice
