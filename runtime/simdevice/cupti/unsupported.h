// SPDX-License-Identifier: Apache-2.0
// Functions of the toolkit's libcupti without an implementation here: weak, so that a definition
// elsewhere in the library wins. They take no arguments because the caller removes its own (System
// V ABI).
#pragma once

#define GACER_UNSUPPORTED(name)                                    \
  extern "C" [[gnu::weak, gnu::visibility("default")]] int name(); \
  extern "C" int name() {                                          \
    return 27; /* CUPTI_ERROR_NOT_SUPPORTED */                     \
  }
