// SPDX-License-Identifier: Apache-2.0
// Names of module-scope symbols in a PTX syntax tree: where they occur, and other ones in their
// place. A function's own declarations hide them there.
#pragma once

#include <map>
#include <string>

#include "runtime/ptx/ast.h"

namespace gacer::simdevice {

void rename(ptx::Module& module, const std::map<std::string, std::string>& names);

// True: some instruction, initial value or list of `module` names `name` (declarations do not).
bool mentions(const ptx::Module& module, const std::string& name);

}  // namespace gacer::simdevice
