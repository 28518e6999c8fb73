// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {

JitLog::JitLog(unsigned count, CUjit_option* options, void** values) {
  if (count > 0 && (options == nullptr || values == nullptr)) {
    valid_ = false;
    return;
  }
  started_ns_ = monotonic_now_ns();
  for (unsigned i = 0; i < count; ++i) read_option(options[i], &values[i]);
}

void JitLog::read_option(CUjit_option option, void** value) {
  const auto number = static_cast<unsigned>(reinterpret_cast<uintptr_t>(*value));
  switch (option) {
    case CU_JIT_INFO_LOG_BUFFER:
      info_.text = static_cast<char*>(*value);
      break;
    case CU_JIT_ERROR_LOG_BUFFER:
      error_.text = static_cast<char*>(*value);
      break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      info_.capacity = number;
      info_.size_value = value;
      break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      error_.capacity = number;
      error_.size_value = value;
      break;
    case CU_JIT_MAX_REGISTERS:
      max_registers_ = number;
      break;
    case CU_JIT_LOG_VERBOSE:
      verbose_ = number != 0;
      break;
    case CU_JIT_WALL_TIME:
      wall_time_ms_ = value;
      break;
    default:
      break;  // optimisation level, target, cache mode: without effect on the interpreter
  }
}

void JitLog::fill(Buffer& buffer, std::string_view text) {
  size_t written = 0;
  if (buffer.text != nullptr && buffer.capacity > 0) {
    const size_t length = std::min(text.size(), buffer.capacity - 1);
    text.copy(buffer.text, length);
    buffer.text[length] = '\0';
    written = length;
  }
  if (buffer.size_value != nullptr)
    *buffer.size_value = reinterpret_cast<void*>(static_cast<uintptr_t>(written));
}

void JitLog::report(std::string_view error_text, std::string_view info_text) {
  fill(info_, info_text);
  fill(error_, error_text);
  if (wall_time_ms_ == nullptr) return;
  const auto ms = static_cast<float>(static_cast<double>(monotonic_now_ns() - started_ns_) * 1e-6);
  *wall_time_ms_ = nullptr;
  memcpy(wall_time_ms_, &ms, sizeof ms);
}

}  // namespace gacer::simdriver
