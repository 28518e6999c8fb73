// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/cuda_status.h"

namespace gacer::kernels {
namespace {

std::string describe(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return std::string(name) + " (" + std::to_string(static_cast<int>(result)) + "): " + text;
}

}  // namespace

bool CudaStatus::check(CUresult result, const char* call, const char* detail) {
  if (result == CUDA_SUCCESS) return true;
  if (!ok()) return false;
  message_ = call;
  if (*detail != '\0') message_ += "(" + std::string(detail) + ")";
  message_ += ": " + describe(result);
  return false;
}

}  // namespace gacer::kernels
