// SPDX-License-Identifier: Apache-2.0
// Pointers to the next driver's functions, one per row of cuda_hooks.def and driver_functions.def.
// Never NULL once filled: a function that the driver lacks answers CUDA_ERROR_NOT_SUPPORTED.
// Filled once before use, read-only afterwards.
#pragma once

#include "interpose/cuda_api.h"

namespace gacer::interpose {

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a member's name
struct DriverTable {
#define GACER_HOOK(symbol, base, version, stream, hook_class) decltype(&::symbol) symbol = nullptr;
#include "interpose/cuda_hooks.def"
#define GACER_DRIVER_FUNCTION(symbol) decltype(&::symbol) symbol = nullptr;
#include "interpose/driver_functions.def"
};
// NOLINTEND(bugprone-macro-parentheses)

// Answers the address of a driver function, or NULL. `context` is the caller's.
using SymbolSource = void* (*)(void* context, const char* symbol);

// Returns how many functions the source did not have; these answer `missing_result` from then on.
int fill_driver_table(DriverTable& table, SymbolSource source, void* context,
                      CUresult missing_result);

// A function of any driver signature that does nothing but return `result`; NOT_SUPPORTED for
// results other than CUDA_ERROR_NO_DEVICE.
void* missing_function(CUresult result);
bool is_missing_function(const void* address);

}  // namespace gacer::interpose
