// SPDX-License-Identifier: Apache-2.0
// Literals and constant expressions: `4`, `-0f3F800000`, `(1<<4)|3`. Integers are 64-bit two's
// complement; floats know only the unary signs.
#pragma once

#include <string_view>

#include "runtime/ptx/ast.h"
#include "runtime/ptx/token_stream.h"

namespace gacer::ptx {

// 12, 0x1F, 017, 0b11, with or without U. False if it does not fit 64 bits or is malformed.
bool parse_integer(std::string_view text, uint64_t& value);

// Fails the stream if no expression is there. `depth` is the caller's nesting counter.
Immediate parse_expression(TokenStream& stream, uint32_t& depth);

// True if a constant expression can begin here.
bool starts_expression(const Token& token);

}  // namespace gacer::ptx
