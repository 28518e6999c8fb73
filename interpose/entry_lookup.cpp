// SPDX-License-Identifier: Apache-2.0
// Entry points: cuGetProcAddress. The driver is asked first; what it does not have, nobody gets.
#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/proc_address.h"

namespace {

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

using Status = CUdriverProcAddressQueryResult;

// The driver's documented answer for what it lacks is success, NULL and a status that says so; it
// stays. A caller that cannot see a status learns it from the result: it would call NULL.
CUresult not_found(Status* status) {
  if (status != nullptr && *status != CU_GET_PROC_ADDRESS_SUCCESS) return CUDA_SUCCESS;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult replace(const char* name, void** function, int version, cuuint64_t flags, Status* status,
                 CUresult result) {
  if (function == nullptr) return result;
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE) *function = nullptr;
  if (result != CUDA_SUCCESS) return result;
  if (*function == nullptr) return not_found(status);
  void* const real = *function;
  *function = hook_for(name, version, flags, real);
  if (*function == real && name != nullptr) note_handed_out_function(name);
  return result;
}

// Drivers before CUDA 12 have the first version only.
CUresult second_by_first(const char* name, void** function, int version, cuuint64_t flags,
                         Status* status) {
  const CUresult result = driver().cuGetProcAddress(name, function, version, flags);
  if (status == nullptr || (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_FOUND))
    return result;
  const bool found = result == CUDA_SUCCESS;
  *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (!found && function != nullptr) *function = nullptr;
  return CUDA_SUCCESS;
}

CUresult ask_driver(const char* name, void** function, int version, cuuint64_t flags,
                    Status* status) {
  if (is_missing_function(reinterpret_cast<void*>(driver().cuGetProcAddress_v2)))
    return second_by_first(name, function, version, flags, status);
  return driver().cuGetProcAddress_v2(name, function, version, flags, status);
}

}  // namespace

extern "C" {

CUresult gacer_hook_cuGetProcAddress(const char* name, void** function, int version,
                                     cuuint64_t flags) {
  const HookScope scope;
  const CUresult result = driver().cuGetProcAddress(name, function, version, flags);
  if (!scope.outermost()) return result;
  return replace(name, function, version, flags, nullptr, result);
}

CUresult gacer_hook_cuGetProcAddress_v2(const char* name, void** function, int version,
                                        cuuint64_t flags, Status* status) {
  const HookScope scope;
  const CUresult result = ask_driver(name, function, version, flags, status);
  if (!scope.outermost()) return result;
  return replace(name, function, version, flags, status, result);
}

}  // extern "C"
