// SPDX-License-Identifier: Apache-2.0
// cuda.h with every ABI version of every function declared (no renaming macros), so that a hook's
// type can be taken from the declaration of the very symbol that it stands for.
#pragma once

#define __CUDA_API_VERSION_INTERNAL 1  // NOLINT(bugprone-reserved-identifier): cuda.h's own switch
#include <cuda.h>

// First release whose headers have what interpose needs; newer symbols are guarded in
// cuda_hooks.def.
static_assert(CUDA_VERSION >= 12040, "CUDA Toolkit >= 12.4 needed: see scripts/setup.sh");
