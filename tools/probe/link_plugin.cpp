// SPDX-License-Identifier: Apache-2.0
// A library linked to libcuda.so.1 like any program that uses the driver API directly: what the
// loader puts into its table is what such a program calls. Weak, so that a function that the driver
// does not have is NULL instead of an error.
#include <cstddef>

#include "tools/probe/link_table.h"

extern "C" {
#define GACER_HOOK(symbol, base, version, stream, hook_class) [[gnu::weak]] void symbol();
#define GACER_FORWARD GACER_HOOK
#include "hook_rows.inc"
#undef GACER_HOOK

const gacer::probe::LinkRow gacer_probe_links[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  {#symbol, reinterpret_cast<void*>(&symbol)},
#include "hook_rows.inc"
    {nullptr, nullptr}};
}
