// SPDX-License-Identifier: Apache-2.0
// Edges between the basic blocks of a function.
#pragma once

#include <vector>

#include "runtime/simdevice/exec/code.h"

namespace gacer::simdevice {

std::vector<uint32_t> successors_of(const FunctionCode& fn, uint32_t block);
// Lanes may leave the function or end at the block's terminator.
bool ends_here(const BasicBlock& bb);

}  // namespace gacer::simdevice
