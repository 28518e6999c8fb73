// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/cuda_api.h"

namespace {

struct ErrorRow {
  CUresult code;
  const char* name;
  const char* text;
};

constexpr ErrorRow kErrors[] = {
#define ROW(code, text) {code, #code, text},
#include "runtime/simdevice/driver/errors.def"
#undef ROW
};

const ErrorRow* find_error(CUresult code) {
  for (const ErrorRow& row : kErrors)
    if (row.code == code) return &row;
  return nullptr;
}

CUresult answer(CUresult code, const char** out, const char* ErrorRow::*field) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorRow* row = find_error(code);
  *out = row == nullptr ? nullptr : row->*field;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** name) {
  return answer(error, name, &ErrorRow::name);
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  return answer(error, text, &ErrorRow::text);
}
