// SPDX-License-Identifier: Apache-2.0
// Functions of nvml.h without an implementation here: weak, so that a definition elsewhere in the
// library wins. They take no arguments because the caller removes its own (System V ABI).
#pragma once

namespace gacer::simnvml {

// NVML_ERROR_UNINITIALIZED or NVML_ERROR_NOT_SUPPORTED.
int answer_unsupported();

}  // namespace gacer::simnvml

#define GACER_UNSUPPORTED(name)                                    \
  extern "C" [[gnu::weak, gnu::visibility("default")]] int name(); \
  extern "C" int name() {                                          \
    return gacer::simnvml::answer_unsupported();                   \
  }
