// SPDX-License-Identifier: Apache-2.0
// Error codes: numbers, names and texts.
#include "runtime/simdevice/cudart/outcome.h"
#include "runtime/simdevice/cudart/stub.h"

namespace gacer::cudart {
namespace {

constexpr char kUnknownCode[] = "unrecognized error code";

const char* name_of(cudaError_t error) {
  switch (error) {
#define ROW(name) \
  case name:      \
    return #name;
#include "runtime_errors.inc"
#undef ROW
    default:
      return nullptr;
  }
}

const char* runtime_text(cudaError_t error) {
  switch (error) {
#define DRIVER_ROW(driver, runtime)
#define TEXT_ROW(code, text) \
  case code:                 \
    return text;
#include "runtime/simdevice/cudart/errors.def"
#undef TEXT_ROW
#undef DRIVER_ROW
    default:
      return nullptr;
  }
}

const char* driver_text(int number) {
  switch (number) {
#define ROW(code, text) \
  case code:            \
    return text;
#include "runtime/simdevice/driver/errors.def"
#undef ROW
    default:
      return kUnknownCode;
  }
}

}  // namespace

cudaError_t to_runtime_error(CUresult result) {
  switch (result) {
#define TEXT_ROW(code, text)
#define DRIVER_ROW(driver, runtime) \
  case driver:                      \
    return runtime;
#include "runtime/simdevice/cudart/errors.def"
#undef DRIVER_ROW
#undef TEXT_ROW
    default:
      break;
  }
  const auto same_number = static_cast<cudaError_t>(result);
  return name_of(same_number) != nullptr ? same_number : cudaErrorUnknown;
}

}  // namespace gacer::cudart

GACER_EXPORT const char* cudaGetErrorName(cudaError_t error) {
  const char* name = gacer::cudart::name_of(error);
  return name != nullptr ? name : gacer::cudart::kUnknownCode;
}
GACER_ALSO_12(cudaGetErrorName)

GACER_EXPORT const char* cudaGetErrorString(cudaError_t error) {
  if (gacer::cudart::name_of(error) == nullptr) return gacer::cudart::kUnknownCode;
  const char* text = gacer::cudart::runtime_text(error);
  return text != nullptr ? text : gacer::cudart::driver_text(static_cast<int>(error));
}
GACER_ALSO_12(cudaGetErrorString)
