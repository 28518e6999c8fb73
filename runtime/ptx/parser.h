// SPDX-License-Identifier: Apache-2.0
// PTX text to syntax tree.
//
//   parse(text) -> Module, or one Error whose message begins "line N: "
//
// Checks syntax only; meaning (operand types, undeclared names) is the reader's business. Any input
// ends: memory is proportional to the text and nesting is bounded (kMaxNesting). Thread-safe (no
// shared state).
#pragma once

#include <string_view>

#include "runtime/base/result.h"
#include "runtime/ptx/ast.h"

namespace gacer::ptx {

inline constexpr uint32_t kMaxNesting = 64;  // scopes, initialiser lists, parentheses

Result<Module> parse(std::string_view text);

}  // namespace gacer::ptx
