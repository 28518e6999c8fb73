// SPDX-License-Identifier: Apache-2.0
// The rows of cuda_hooks.def against NVIDIA's own table of (name, version, stream variant) -> type:
// a row with a wrong version, base name or variant does not compile.
#include <gtest/gtest.h>

#include <type_traits>

#include "interpose/cuda_api.h"
// After cuda_api.h.
#include <cudaTypedefs.h>

#define GACER_TYPE_any(base, version) PFN_##base##_v##version
#define GACER_TYPE_legacy(base, version) PFN_##base##_v##version
#define GACER_TYPE_ptsz(base, version) PFN_##base##_v##version##_ptsz
#define GACER_TYPE_ptds(base, version) PFN_##base##_v##version##_ptds
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  static_assert(std::is_same_v<GACER_TYPE_##stream(base, version), decltype(&::symbol)>, #symbol);
#define GACER_FORWARD GACER_HOOK
#include "interpose/cuda_hooks.def"

TEST(HookTypes, given_every_row_then_its_type_is_the_toolkits) {
  SUCCEED();
}
