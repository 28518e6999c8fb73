// SPDX-License-Identifier: Apache-2.0
// The folders that loaded objects name for their own libraries (DT_RPATH, DT_RUNPATH).
#pragma once

#include <cstddef>
#include <cstdint>

namespace gacer::interpose {

enum class RunPath : uint8_t { kRpath, kRunpath };

// Copies the folder list of the `index`-th object that is the main program or needs `library`, in
// load order, with $ORIGIN expanded; empty if it has none, or only the other kind (a DT_RPATH
// beside a DT_RUNPATH is not used, as the loader has it). False: no more objects. Does not
// allocate.
bool run_path_of(size_t index, RunPath kind, const char* library, char* list, size_t bytes);

// $ORIGIN and ${ORIGIN} become `origin`; folders with another '$' are left out. False: too long.
bool expand_origin(const char* text, const char* origin, char* list, size_t bytes);

}  // namespace gacer::interpose
