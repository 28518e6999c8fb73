// SPDX-License-Identifier: Apache-2.0
// Entry points: cuGetProcAddress. The driver is asked first; what it does not have, nobody gets.
#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/proc_address.h"

namespace {

// Success with NULL is an answer some drivers give; a program would call it.
CUresult replace(const char* name, void** function, int version, cuuint64_t flags,
                 CUresult result) {
  if (result != CUDA_SUCCESS || function == nullptr) return result;
  if (*function == nullptr) return CUDA_ERROR_NOT_FOUND;
  void* const real = *function;
  *function = gacer::interpose::hook_for(name, version, flags, real);
  if (*function == real) gacer::interpose::note_handed_out_function(name);
  return result;
}

}  // namespace

extern "C" {

CUresult gacer_hook_cuGetProcAddress(const char* name, void** function, int version,
                                     cuuint64_t flags) {
  const gacer::interpose::HookScope scope;
  const CUresult result =
      gacer::interpose::driver().cuGetProcAddress(name, function, version, flags);
  return scope.outermost() ? replace(name, function, version, flags, result) : result;
}

CUresult gacer_hook_cuGetProcAddress_v2(const char* name, void** function, int version,
                                        cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  const gacer::interpose::HookScope scope;
  const CUresult result =
      gacer::interpose::driver().cuGetProcAddress_v2(name, function, version, flags, status);
  return scope.outermost() ? replace(name, function, version, flags, result) : result;
}

}  // extern "C"
