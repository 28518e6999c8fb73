// SPDX-License-Identifier: Apache-2.0
// Atomic read-modify-write of global, shared and generic memory. Real atomics on the host: blocks
// of one launch run on several threads. a + imm: address, b (c): operands, dst: old value if used.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/ptx/ast.h"
#include "runtime/simdevice/exec/code.h"

namespace gacer::simdevice {

enum class AtomicOp : uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExchange, kCas };
using AtomicFn = Handler;

std::optional<AtomicOp> atomic_op_from(std::string_view word);
AtomicFn find_atomic(AtomicOp op, ptx::Type type);  // nullptr: PTX has no such operation

// One element: *host = *host op *value, atomically; the old one goes to *old. No kCas.
using ElementUpdate = ElementUpdateFn;
ElementUpdate find_element_update(AtomicOp op, ptx::Type type);  // nullptr: no such operation

// Of several elements side by side, each by itself: list: old values (if used), then operands.
// mode: bytes of an element; Insn::element: the operation.
bool vector_atomic_handler(Warp& warp, const Insn& in, uint32_t mask);

}  // namespace gacer::simdevice
