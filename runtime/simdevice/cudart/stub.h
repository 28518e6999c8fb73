// SPDX-License-Identifier: Apache-2.0
// How functions leave the library. Programs built with CUDA 12 ask for the version node
// libcudart.so.12, those of 13 for libcudart.so.13; a function of one form in both carries both.
#pragma once

#define GACER_EXPORT extern "C" [[gnu::visibility("default")]]

// After the definition of `name`. An alias takes the older version: one symbol holds one.
#define GACER_ALSO_12(name)                                                             \
  __asm__(".globl " #name "_of_12\n\t.set " #name "_of_12, " #name "\n\t.symver " #name \
          "_of_12, " #name "@libcudart.so.12\n\t.symver " #name ", " #name "@@@libcudart.so.13");

// After the definition of `function`: what `name` means to programs of CUDA 12 only.
#define GACER_AS_12(function, name) __asm__(".symver " #function ", " #name "@libcudart.so.12");

namespace gacer::cudart {

// Records cudaErrorNotSupported and, with SIMGPU_LOG=debug, says so once a name.
int answer_unsupported(const char* name);

}  // namespace gacer::cudart

// An export without an implementation. It takes no arguments because the caller removes its own
// (System V ABI).
#define GACER_RUNTIME_STUB(name)                     \
  GACER_EXPORT int name() {                          \
    return gacer::cudart::answer_unsupported(#name); \
  }                                                  \
  GACER_ALSO_12(name)
