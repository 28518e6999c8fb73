// SPDX-License-Identifier: Apache-2.0
// The next driver: opened on the first use, never closed. Without one, every function answers
// CUDA_ERROR_NO_DEVICE and one warning line says where it was looked for.
// Thread-safe. Must not be used before the program's own first driver call.
#pragma once

#include <atomic>

#include "interpose/driver_table.h"

namespace gacer::interpose {

// Of C linkage since the x86-64 entry points name it in assembly.
extern "C" DriverTable gacer_driver_table;

namespace detail {
extern std::atomic<bool> driver_ready;
const DriverTable& load_driver();
}  // namespace detail

inline const DriverTable& driver() {
  // Pairs with the release in publish().
  if (detail::driver_ready.load(std::memory_order_acquire)) [[likely]]
    return gacer_driver_table;
  return detail::load_driver();
}

// NULL: the driver has no such function. Loads the driver.
void* driver_symbol(const char* symbol);
bool driver_found();

// dlopen of the next object in the loader's search order, past our own: what the program's calls go
// on to.
using DlopenFunction = void* (*)(const char* file, int mode);
DlopenFunction real_dlopen();

// For tests: use this table, open nothing. `symbols` may be NULL.
void install_driver(const DriverTable& table, SymbolSource symbols, void* context);

// In a fork child, before any other thread exists.
void reset_driver_lock();

}  // namespace gacer::interpose
