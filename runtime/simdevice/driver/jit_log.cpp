// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {

JitLog::JitLog(unsigned count, CUjit_option* options, void** values) {
  if (count > 0 && (options == nullptr || values == nullptr)) {
    valid_ = false;
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    const size_t as_size = static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
    switch (options[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        info_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        error_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        info_.capacity = as_size;
        info_.size_value = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        error_.capacity = as_size;
        error_.size_value = &values[i];
        break;
      default:
        break;  // register limits, optimisation level, target: without effect on the interpreter
    }
  }
}

void JitLog::fill(Buffer& buffer, std::string_view text) {
  size_t written = 0;
  if (buffer.text != nullptr && buffer.capacity > 0) {
    const size_t length = std::min(text.size(), buffer.capacity - 1);
    memcpy(buffer.text, text.data(), length);
    buffer.text[length] = '\0';
    written = length;
  }
  if (buffer.size_value != nullptr)
    *buffer.size_value = reinterpret_cast<void*>(static_cast<uintptr_t>(written));
}

void JitLog::report(std::string_view error_text) {
  fill(info_, "");
  fill(error_, error_text);
}

}  // namespace gacer::simdriver
