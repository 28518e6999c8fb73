// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver_table.h"

#include <cstring>

namespace gacer::interpose {
namespace {

// Called with whatever arguments the missing function has: on the supported ABIs the caller owns
// their clean-up.
extern "C" CUresult gacer_answer_not_supported() {
  return CUDA_ERROR_NOT_SUPPORTED;
}
extern "C" CUresult gacer_answer_no_device() {
  return CUDA_ERROR_NO_DEVICE;
}

template <typename Function>
int fill(Function& slot, void* address, CUresult missing_result) {
  const bool missing = address == nullptr;
  if (missing) address = missing_function(missing_result);
  static_assert(sizeof slot == sizeof address);
  memcpy(&slot, &address, sizeof slot);
  return missing ? 1 : 0;
}

}  // namespace

void* missing_function(CUresult result) {
  auto* function =
      result == CUDA_ERROR_NO_DEVICE ? &gacer_answer_no_device : &gacer_answer_not_supported;
  return reinterpret_cast<void*>(function);
}

bool is_missing_function(const void* address) {
  return address == missing_function(CUDA_ERROR_NOT_SUPPORTED) ||
         address == missing_function(CUDA_ERROR_NO_DEVICE);
}

int fill_driver_table(DriverTable& table, SymbolSource source, void* context,
                      CUresult missing_result) {
  int missing = 0;
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  missing += fill(table.symbol, source(context, #symbol), missing_result);
#include "interpose/cuda_hooks.def"
#define GACER_DRIVER_FUNCTION(symbol) \
  missing += fill(table.symbol, source(context, #symbol), missing_result);
#include "interpose/driver_functions.def"
  return missing;
}

}  // namespace gacer::interpose
