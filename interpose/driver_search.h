// SPDX-License-Identifier: Apache-2.0
// Where the next driver may lie: where the program itself would have found it, in the loader's
// order.
//   1. $GACER_REAL_LIBCUDA, and then nothing else;
//   2. the path by which the program asked for the driver (dlopen with a '/');
//   3. the DT_RPATH of the program and of loaded objects that need libcuda.so.1;
//   4. libcuda.so.1 in each folder of $LD_LIBRARY_PATH, those given by absolute paths first: the
//      others meant something else if the program has changed its folder since it started;
//   5. their DT_RUNPATH;
//   6. what /etc/ld.so.cache has for libcuda.so.1;
//   7. the folders where distributions, WSL, compat packages and container runtimes put it.
// `visit` gets absolute paths only: by its bare name the shim would find itself.
#pragma once

namespace gacer::interpose {

// Gives each candidate to `visit` until it returns true. Returns whether one did. Reads the
// environment and the loader's cache; does not allocate beyond mapping that file; thread-safe.
bool visit_driver_candidates(bool (*visit)(void* context, const char* path), void* context);

// A program opens the driver by this name; kept if it is the first with a '/'. Thread-safe.
void note_asked_path(const char* file);

// The parts, for tests.
bool visit_path_list(const char* list, bool (*visit)(void*, const char*), void* context);
bool visit_relative_folders(const char* list, bool (*visit)(void*, const char*), void* context);
bool visit_loader_cache(const char* cache_file, bool (*visit)(void*, const char*), void* context);

}  // namespace gacer::interpose
