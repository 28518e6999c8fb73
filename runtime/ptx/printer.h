// SPDX-License-Identifier: Apache-2.0
// Syntax tree back to PTX text: parse(print(m)) == m for every m that parse() gave.
#pragma once

#include <string>

#include "runtime/ptx/ast.h"

namespace gacer::ptx {

std::string print(const Module& module);
// One line without the newline, for messages: "@%p1 ld.global.f32 %f1, [%rd2+4];".
std::string print(const Instruction& instruction);

}  // namespace gacer::ptx
